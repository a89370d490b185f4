// Any bytes as a GGUF file: refused with one line, or parsed and then readable in every part.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "model/gguf.h"
#include "model/llama_shape.h"
#include "model/weights.h"

namespace banyan::model {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Keys that the engine and the tokenizer ask for: every getter must be safe on each.
constexpr const char* kKeys[] = {
    "general.architecture",      "general.alignment",      "llama.block_count",
    "llama.rope.freq_base",      "llama.embedding_length", "tokenizer.ggml.tokens",
    "tokenizer.ggml.token_type", "tokenizer.ggml.merges",  "tokenizer.ggml.add_bos_token"};

void ReadEverything(const Gguf& file) {
  std::size_t sum = 0;
  for (const char* key : kKeys) {
    if (const auto text = file.String(key)) sum += text->empty() ? 0 : std::size_t(text->back());
    if (const auto texts = file.Strings(key)) {
      for (const std::string_view text : *texts) sum += text.empty() ? 0 : std::size_t(text[0]);
    }
    if (const auto numbers = file.Integers(key)) sum += numbers->size();
    (void)file.Integer(key);
    (void)file.Float(key);
    (void)file.Bool(key);
  }
  TensorSet tensors(file);
  for (const StoredTensor& tensor : file.tensors()) {
    Require(!tensor.data.empty());
    sum += std::size_t(tensor.data.front()) + std::size_t(tensor.data.back());
    (void)tensors.Take(tensor.name, tensor.dims[1], tensor.dims[0]);
  }
  (void)tensors.CheckAllTaken("llama");
  (void)LlamaShape::Read(file);
  volatile std::size_t sink = sum;
  (void)sink;
}

}  // namespace
}  // namespace banyan::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using banyan::model::Gguf;
  const auto file = Gguf::Parse(std::as_bytes(std::span(data, size)));
  if (file.ok()) {
    banyan::model::ReadEverything(**file);
  } else {
    const std::string message(file.status().message());
    banyan::model::Require(!message.empty() && message.find('\n') == std::string::npos);
  }
  return 0;
}
