// Compares Banyan's tokenizers with goldens of tests/text/oracle/make_family_goldens.py, one file
// per vocabulary: `text_families NAME.json...`. Prints how much was compared; exit status 1 where
// anything differs from the reference. What llama.cpp expects counts where the reference comes to
// the same; where it does not, that is counted and shown.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/metadata.h"
#include "boost/json.hpp"
#include "model/model.h"
#include "text/codec.h"
#include "text/stream.h"

namespace banyan::text {
namespace {

namespace json = boost::json;

struct Counts {
  std::size_t texts = 0;
  std::size_t differences = 0;
};

std::string Text(const json::value& entry) { return json::value_to<std::string>(entry.at("text")); }
std::vector<TokenId> Ids(const json::value& entry) {
  return json::value_to<std::vector<TokenId>>(entry.at("ids"));
}

void Show(const std::string& what, const json::value& text, const std::vector<TokenId>& expected,
          const std::vector<TokenId>& ids) {
  std::cout << "  " << what << " differs: " << json::serialize(text) << "\n    expected "
            << json::serialize(json::value_from(expected)) << "\n    got      "
            << json::serialize(json::value_from(ids)) << "\n";
}

Counts CompareIds(const Codec& codec, const json::value& goldens, const char* list,
                  ControlTokens control) {
  Counts counts;
  for (const json::value& entry : goldens.at(list).as_array()) {
    const auto ids = codec.Encode(Text(entry), control);
    ++counts.texts;
    if (ids.ok() && *ids == Ids(entry)) continue;
    if (++counts.differences <= 5) {
      Show(list, entry.at("text"), Ids(entry), ids.value_or(std::vector<TokenId>()));
    }
  }
  return counts;
}

// Texts with the ids that llama.cpp expects.
Counts CompareLlamaCpp(const Codec& codec, const json::value& goldens, std::size_t& apart) {
  Counts counts;
  for (const json::value& entry : goldens.at("llama_cpp").as_array()) {
    const auto ids = codec.Encode(Text(entry), ControlTokens::kPlainText);
    const auto reference = json::value_to<std::vector<TokenId>>(entry.at("reference"));
    ++counts.texts;
    if (reference != Ids(entry)) {
      ++apart;
      std::cout << "  the reference and llama.cpp part on " << Text(entry).substr(0, 60) << "\n";
    }
    if (ids.ok() && *ids == reference) continue;
    if (++counts.differences <= 5) {
      Show("llama_cpp", entry.at("text"), reference, ids.value_or(std::vector<TokenId>()));
    }
  }
  return counts;
}

Counts CompareDecoded(const Codec& codec, const json::value& goldens) {
  Counts counts;
  for (const json::value& entry : goldens.at("decoded").as_array()) {
    ++counts.texts;
    const std::string text = codec.Decode(Ids(entry));
    // Bytes of the vocabulary that are no text come out of the reference in its own way.
    if (Text(entry).find("\uFFFD") != std::string::npos || text == Text(entry)) continue;
    if (++counts.differences <= 5) {
      std::cout << "  decoded differs: " << json::serialize(entry) << "\n    got "
                << json::serialize(json::value(text)) << "\n";
    }
  }
  return counts;
}

// A file's metadata but for its chat template, which has no part in the ids of plain text: the
// tokens that it writes would be kept from it.
class WithoutTemplate final : public Metadata {
 public:
  explicit WithoutTemplate(const Metadata& all) : all_(all) {}

  bool Has(std::string_view key) const override { return key != kHidden && all_.Has(key); }
  std::optional<std::string_view> String(std::string_view key) const override {
    return key == kHidden ? std::nullopt : all_.String(key);
  }
  std::optional<std::int64_t> Integer(std::string_view key) const override {
    return all_.Integer(key);
  }
  std::optional<double> Float(std::string_view key) const override { return all_.Float(key); }
  std::optional<bool> Bool(std::string_view key) const override { return all_.Bool(key); }
  std::optional<std::vector<std::string_view>> Strings(std::string_view key) const override {
    return all_.Strings(key);
  }
  std::optional<std::vector<std::int64_t>> Integers(std::string_view key) const override {
    return all_.Integers(key);
  }
  std::optional<std::vector<double>> Floats(std::string_view key) const override {
    return all_.Floats(key);
  }

 private:
  static constexpr std::string_view kHidden = "tokenizer.chat_template";
  const Metadata& all_;
};

class Report {
 public:
  void Add(const std::string& name, const json::value& goldens) {
    const std::string path = json::value_to<std::string>(goldens.at("file"));
    const auto file = model::File::Open(path);
    if (!file.ok()) return Fail(name, std::string(file.status().message()));
    const auto codec = Codec::FromMetadata(WithoutTemplate((*file)->metadata()));
    const bool supported = goldens.at("supported").as_bool();
    if (!codec.ok()) {
      std::cout << name << ": refused: " << codec.status().message() << "\n";
      ++refused_;
      if (supported) Fail(name, "should not be refused");
      return;
    }
    if (!supported) return Fail(name, "should be refused");
    ++vocabularies_;
    Count(name, "as tokenizers",
          {CompareIds(**codec, goldens, "plain", ControlTokens::kPlainText),
           CompareIds(**codec, goldens, "user_defined", ControlTokens::kPlainText),
           CompareIds(**codec, goldens, "recognized", ControlTokens::kRecognize),
           CompareDecoded(**codec, goldens)},
          reference_);
    Count(name, "as llama.cpp", {CompareLlamaCpp(**codec, goldens, apart_)}, llama_cpp_);
  }

  int Finish() const {
    std::cout << vocabularies_ << " vocabularies, " << refused_ << " refused: " << reference_.texts
              << " texts as tokenizers, " << reference_.differences << " differences; "
              << llama_cpp_.texts << " as llama.cpp, " << llama_cpp_.differences
              << " differences\n";
    return failed_ || vocabularies_ == 0 || reference_.differences > 0 || llama_cpp_.differences > 0
               ? 1
               : 0;
  }

 private:
  void Fail(const std::string& name, const std::string& why) {
    std::cout << name << ": " << why << "\n";
    failed_ = true;
  }
  static void Count(const std::string& name, const char* as, const std::vector<Counts>& parts,
                    Counts& total) {
    Counts sum;
    for (const Counts& part : parts) {
      sum.texts += part.texts;
      sum.differences += part.differences;
    }
    total.texts += sum.texts;
    total.differences += sum.differences;
    std::cout << name << ": " << sum.texts << " texts " << as << ", " << sum.differences
              << " differences\n";
  }

  int vocabularies_ = 0;
  int refused_ = 0;
  Counts reference_;
  Counts llama_cpp_;
  std::size_t apart_ = 0;
  bool failed_ = false;
};

}  // namespace
}  // namespace banyan::text

int main(int argc, char** argv) {
  banyan::text::Report report;
  for (int i = 1; i < argc; ++i) {
    std::ifstream stream(argv[i]);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    std::string name = argv[i];
    name = name.substr(name.rfind('/') + 1);
    report.Add(name.substr(0, name.rfind('.')), boost::json::parse(text));
  }
  return report.Finish();
}
