// Writes the tiny models that the oracle looks at, and runs one.
//
//   tiny_models names               their names, FAMILY-TYPE-WHAT, a line each
//   tiny_models write FOLDER        FOLDER/NAME.gguf for each
//   tiny_models run FILE ID...      the logits after each of the tokens, floats [tokens,
//   vocabulary]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

using kernels::DType;

struct Named {
  std::string what;
  TinyOptions options;
};

const Named kOfEveryFamily[] = {
    {"grouped", {}},
    {"multi_head", {.kv_heads = 4, .tied_head = true}},
    {"multi_query", {.kv_heads = 1, .rope_base = 500000}},
    {"scaled", {.rope_scaling = 4}},
    {"wide_heads", {.heads = 3, .kv_heads = 3, .head_dim = 32, .rope_dims = 32}},
};

// What only some families have.
const Named kPeculiar[] = {
    {"rope_factors", {.rope_factors = {1, 1, 1, 1.7F, 3.2F, 8, 8, 8}}},
    {"window", {.window = 24}},
    {"biases", {.biases = true}},
    {"window", {.family = "gemma3", .layers = 7, .rope_base = 1000000, .window = 24}},
    {"scaled_window", {.family = "gemma3", .layers = 7, .rope_scaling = 8, .window = 24}},
    {"bases",
     {.family = "gemma3",
      .rope_base = 1000000,
      .window = 24,
      .local_rope_base = 500,
      .global_every = 2}},
    {"deepest", {.family = "gemma3", .layers = 62, .head_dim = 8, .rope_dims = 8}},
};

std::vector<std::pair<std::string, TinyOptions>> All() {
  std::vector<std::pair<std::string, TinyOptions>> all;
  const auto add = [&](const Named& named, const std::string& family) {
    for (const DType type : {DType::kF32, DType::kQ8_0, DType::kQ4_1}) {
      TinyOptions options = named.options;
      options.family = family;
      options.type = type;
      // int8 activations add up over so many layers.
      if (options.layers == 62 && type != DType::kF32) continue;
      all.emplace_back(family + "-" + std::string(kernels::ShapeOf(type).name) + "-" + named.what,
                       options);
    }
  };
  for (const char* family : {"gemma3", "llama", "qwen2", "qwen3"}) {
    for (const Named& named : kOfEveryFamily) add(named, family);
  }
  for (const Named& named : kPeculiar) add(named, named.options.family);
  return all;
}

int Write(const std::string& folder) {
  for (const auto& [name, options] : All()) {
    const std::vector<std::byte> bytes = TinyModel(options).Write();
    std::ofstream file(folder + "/" + name + ".gguf", std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) return 1;
  }
  return 0;
}

int Run(const std::string& path, const std::vector<TokenId>& tokens) {
  auto file = File::Open(path);
  if (!file.ok()) {
    std::cerr << file.status() << '\n';
    return 1;
  }
  const auto model = Model::Load(*std::move(file), {.page_size = 16, .kv_memory = 16 << 20});
  if (!model.ok()) {
    std::cerr << model.status() << '\n';
    return 1;
  }
  std::vector<PageId> pages(tokens.size() / 16 + 1);
  std::iota(pages.begin(), pages.end(), 0);
  Batch batch;
  batch.sequences.push_back({.tokens = tokens, .pages = pages, .logits = Logits::kReturnAll});
  StepResult result;
  if (const absl::Status status = (*model)->Forward(batch, result); !status.ok()) {
    std::cerr << status << '\n';
    return 1;
  }
  const std::vector<float>& logits = result.sequences[0].logits;
  return std::fwrite(logits.data(), sizeof(float), logits.size(), stdout) == logits.size() ? 0 : 1;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"names"}) {
    for (const auto& [name, options] : All()) std::cout << name << '\n';
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "write") return Write(arguments[1]);
  if (arguments.size() > 2 && arguments[0] == "run") {
    std::vector<TokenId> tokens;
    for (std::size_t i = 2; i < arguments.size(); ++i) tokens.push_back(std::stoi(arguments[i]));
    return Run(arguments[1], tokens);
  }
  std::cerr << "usage: tiny_models names | write FOLDER | run FILE ID...\n";
  return 2;
}

}  // namespace
}  // namespace banyan::model

int main(int argc, char** argv) { return banyan::model::Main({argv + 1, argv + argc}); }
