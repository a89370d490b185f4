// Any bytes as a GGUF file: refused with one line, or parsed and then readable in every part. And
// as the parts of a split one: each "GGUF" begins a part.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/gguf.h"
#include "model/split_file.h"
#include "model/weights.h"

namespace banyan::model {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Keys that the engine and the tokenizer ask for: every getter must be safe on each.
constexpr const char* kKeys[] = {"general.architecture",
                                 "general.alignment",
                                 "llama.block_count",
                                 "llama.rope.freq_base",
                                 "llama.embedding_length",
                                 "tokenizer.ggml.tokens",
                                 "tokenizer.ggml.token_type",
                                 "tokenizer.ggml.merges",
                                 "tokenizer.ggml.add_bos_token",
                                 "split.count"};

std::size_t ReadKeys(const Metadata& metadata) {
  std::size_t sum = 0;
  for (const char* key : kKeys) {
    if (const auto text = metadata.String(key)) {
      sum += text->empty() ? 0 : std::size_t(text->back());
    }
    if (const auto texts = metadata.Strings(key)) {
      for (const std::string_view text : *texts) sum += text.empty() ? 0 : std::size_t(text[0]);
    }
    if (const auto numbers = metadata.Integers(key)) sum += numbers->size();
    (void)metadata.Integer(key);
    (void)metadata.Float(key);
    (void)metadata.Bool(key);
  }
  return sum;
}

void ReadEverything(const File& file) {
  std::size_t sum = ReadKeys(file.metadata());
  TensorSet tensors(file);
  for (const StoredTensor& tensor : file.tensors()) {
    Require(!tensor.data.empty());
    sum += std::size_t(tensor.data.front()) + std::size_t(tensor.data.back());
    (void)tensors.Take(tensor.name, tensor.dims[1], tensor.dims[0]);
  }
  (void)tensors.CheckAllTaken("llama");
  Require(file.bytes() > 0 && file.parts() > 0);
  for (const std::string& problem : Inspect(file).problems) {
    Require(!problem.empty() && problem.find('\n') == std::string::npos);
  }
  volatile std::size_t sink = sum;
  (void)sink;
}

void RequireOneLine(const absl::Status& status) {
  const std::string message(status.message());
  Require(!message.empty() && message.find('\n') == std::string::npos);
}

void ReadWhole(std::span<const std::byte> bytes) {
  const auto file = Gguf::Parse(bytes);
  if (!file.ok()) return RequireOneLine(file.status());
  if (const auto parts = PartsOf(**file); !parts.ok()) RequireOneLine(parts.status());
  ReadEverything(**file);
}

void ReadParts(std::span<const std::byte> bytes) {
  constexpr std::string_view kMagic = "GGUF";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::unique_ptr<Gguf>> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find(kMagic, at + 1), text.size());
    auto part = Gguf::Parse(bytes.subspan(at, next - at));
    if (!part.ok()) return;
    parts.push_back(*std::move(part));
    at = next;
  }
  if (parts.size() < 2) return;
  const auto file = SplitFile::Join(std::move(parts));
  if (!file.ok()) return RequireOneLine(file.status());
  ReadEverything(**file);
  for (const StoredTensor& tensor : (*file)->tensors()) (*file)->Release(tensor);
}

}  // namespace
}  // namespace banyan::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  banyan::model::ReadWhole(bytes);
  banyan::model::ReadParts(bytes);
  return 0;
}
