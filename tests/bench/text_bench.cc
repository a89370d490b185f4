// Encoding alone: the tokenizer of BANYAN_MODEL over the texts in the folder BANYAN_BENCH_TEXTS,
// each file documents with U+001E between. tests/bench/encode.py writes them, runs this, and times
// the reference library on the same.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "model/model.h"
#include "text/codec.h"

namespace banyan::text {
namespace {

std::vector<std::string> Documents(const std::filesystem::path& path) {
  std::ifstream stream(path);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  std::vector<std::string> documents;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\x1e', at), text.size());
    documents.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return documents;
}

void Encode(benchmark::State& state, const Codec& codec,
            const std::vector<std::string>& documents) {
  std::size_t bytes = 0;
  std::size_t tokens = 0;
  for (auto _ : state) {
    for (const std::string& document : documents) {
      const auto ids = codec.Encode(document, ControlTokens::kPlainText);
      if (!ids.ok()) {
        state.SkipWithError(std::string(ids.status().message()).c_str());
        return;
      }
      bytes += document.size();
      tokens += ids->size();
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.counters["bytes_per_token"] = static_cast<double>(bytes) / static_cast<double>(tokens);
}

}  // namespace
}  // namespace banyan::text

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const char* model = std::getenv("BANYAN_MODEL");
  const char* texts = std::getenv("BANYAN_BENCH_TEXTS");
  if (model == nullptr || texts == nullptr) {
    std::cerr << "BANYAN_MODEL and BANYAN_BENCH_TEXTS must be set\n";
    return 1;
  }
  const auto file = banyan::model::File::Open(model);
  if (!file.ok()) return std::cerr << file.status().message() << "\n", 1;
  const auto codec = banyan::text::Codec::FromMetadata((*file)->metadata());
  if (!codec.ok()) return std::cerr << codec.status().message() << "\n", 1;
  for (const auto& entry : std::filesystem::directory_iterator(texts)) {
    benchmark::RegisterBenchmark(entry.path().stem().c_str(), [documents = banyan::text::Documents(
                                                                   entry.path()),
                                                               &codec](benchmark::State& state) {
      banyan::text::Encode(state, **codec, documents);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
