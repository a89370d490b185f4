// Writes the tiny models that the oracle looks at (oracle/test_families.py).
//
//   tiny_models names               their names, FAMILY-TYPE-WHAT, a line each
//   tiny_models write FOLDER        FOLDER/NAME.gguf for each
//   tiny_models run FILE ID...      the logits after each of the tokens, floats [tokens,
//   vocabulary]
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

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

// For types whose blocks have 256 columns.
const Named kWide = {"wide",
                     {.head_dim = 64, .embedding = 256, .feed_forward = 512, .rope_dims = 64}};

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
  const std::vector<DType> narrow = {DType::kF32, DType::kQ8_0, DType::kQ4_1};
  std::vector<std::pair<std::string, TinyOptions>> all;
  const auto add = [&](const Named& named, const std::string& family,
                       const std::vector<DType>& types) {
    for (const DType type : types) {
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
    for (const Named& named : kOfEveryFamily) add(named, family, narrow);
    add(kWide, family, {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K});
  }
  add(kOfEveryFamily[0], "llama",
      {DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ5_0, DType::kQ5_1});
  for (const Named& named : kPeculiar) add(named, named.options.family, narrow);
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

int Main(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"names"}) {
    for (const auto& [name, options] : All()) std::cout << name << '\n';
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "write") return Write(arguments[1]);
  std::cerr << "usage: tiny_models names | write FOLDER\n";
  return 2;
}

}  // namespace
}  // namespace banyan::model

int main(int argc, char** argv) { return banyan::model::Main({argv + 1, argv + argc}); }
