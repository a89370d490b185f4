// A small byte-level tokenizer as a model file would describe it, for tests to spoil key by key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/metadata.h"
#include "text/byte_alphabet.h"

namespace banyan::text {

inline constexpr char kSmolTemplate[] =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}";

class ToyMetadata final : public Metadata {
 public:
  using Value = std::variant<std::string, std::int64_t, bool, std::vector<std::string>,
                             std::vector<std::int64_t>, std::vector<double>>;

  // Ids 0 to 255 are the bytes in order, then the results of `merges`, then `controls`, then those
  // of the template that are not among them.
  ToyMetadata(const std::vector<std::string>& merges, const std::vector<std::string>& controls) {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      tokens.push_back(SpellBytes({&c, 1}));
    }
    for (std::string merge : merges) {
      merge.erase(merge.find(' '), 1);
      tokens.push_back(merge);
    }
    std::vector<std::int64_t> types(tokens.size(), 1);
    tokens.insert(tokens.end(), controls.begin(), controls.end());
    for (const char* needed : {"<|im_start|>", "<|im_end|>"}) {
      if (std::ranges::find(controls, needed) == controls.end()) tokens.push_back(needed);
    }
    types.resize(tokens.size(), 3);
    values["tokenizer.ggml.model"] = std::string("gpt2");
    values["tokenizer.ggml.pre"] = std::string("smollm");
    values["tokenizer.ggml.tokens"] = tokens;
    values["tokenizer.ggml.token_type"] = types;
    values["tokenizer.ggml.merges"] = merges;
    values["tokenizer.ggml.eos_token_id"] = std::int64_t{256};
    values["tokenizer.chat_template"] = std::string(kSmolTemplate);
  }
  ToyMetadata() : ToyMetadata({"a b", "ab c"}, {"<|im_start|>", "<|im_end|>", "<|endoftext|>"}) {}

  std::vector<std::string>& strings(const std::string& key) {
    return std::get<std::vector<std::string>>(values[key]);
  }
  std::vector<std::int64_t>& integers(const std::string& key) {
    return std::get<std::vector<std::int64_t>>(values[key]);
  }

  bool Has(std::string_view key) const override { return values.contains(std::string(key)); }
  std::optional<std::string_view> String(std::string_view key) const override {
    if (const auto* value = Get<std::string>(key)) return *value;
    return std::nullopt;
  }
  std::optional<std::int64_t> Integer(std::string_view key) const override {
    if (const auto* value = Get<std::int64_t>(key)) return *value;
    return std::nullopt;
  }
  std::optional<double> Float(std::string_view) const override { return std::nullopt; }
  std::optional<bool> Bool(std::string_view key) const override {
    if (const auto* value = Get<bool>(key)) return *value;
    return std::nullopt;
  }
  std::optional<std::vector<std::string_view>> Strings(std::string_view key) const override {
    const auto* value = Get<std::vector<std::string>>(key);
    if (value == nullptr) return std::nullopt;
    return std::vector<std::string_view>(value->begin(), value->end());
  }
  std::optional<std::vector<std::int64_t>> Integers(std::string_view key) const override {
    if (const auto* value = Get<std::vector<std::int64_t>>(key)) return *value;
    return std::nullopt;
  }
  std::optional<std::vector<double>> Floats(std::string_view key) const override {
    const auto* value = Get<std::vector<double>>(key);
    if (value == nullptr) return std::nullopt;
    return *value;
  }

  std::map<std::string, Value> values;

 private:
  template <typename T>
  const T* Get(std::string_view key) const {
    const auto entry = values.find(std::string(key));
    return entry == values.end() ? nullptr : std::get_if<T>(&entry->second);
  }
};

}  // namespace banyan::text
