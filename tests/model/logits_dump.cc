// Writes the logits of prompts, for comparison with other implementations.
//
// usage: logits_dump MODEL.gguf PROMPTS OUT
//
// PROMPTS has a prompt's token ids on each line; OUT gets, prompt after prompt, the logits after
// each of its tokens as 32-bit floats: [tokens, vocabulary].
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "model/model.h"

namespace banyan::model {
namespace {

constexpr std::int32_t kMaxBatchTokens = 64;  // so that a long prompt's logits come in pieces

int Fail(const std::string& what) {
  std::fprintf(stderr, "logits_dump: %s\n", what.c_str());
  return 1;
}

absl::Status DumpPrompt(Model& model, const std::vector<TokenId>& prompt, std::ofstream& out) {
  std::vector<PageId> pages(static_cast<std::size_t>(model.pages()));
  std::iota(pages.begin(), pages.end(), 0);
  for (std::size_t done = 0; done < prompt.size();) {
    const std::size_t count = std::min<std::size_t>(kMaxBatchTokens, prompt.size() - done);
    Batch batch;
    batch.sequences.push_back({.tokens = std::span(prompt).subspan(done, count),
                               .first_position = static_cast<std::int64_t>(done),
                               .pages = pages,
                               .logits = Logits::kReturnAll,
                               .sampling = {.temperature = 0}});
    StepResult result;
    if (absl::Status status = model.Forward(batch, result); !status.ok()) return status;
    const std::vector<float>& logits = result.sequences[0].logits;
    out.write(reinterpret_cast<const char*>(logits.data()),
              static_cast<std::streamsize>(logits.size() * sizeof(float)));
    done += count;
  }
  return absl::OkStatus();
}

int Dump(const std::string& path, const std::string& prompts, const std::string& target) {
  auto file = File::Open(path);
  if (!file.ok()) return Fail(path + ": " + std::string(file.status().message()));
  const auto model = Model::Load(
      *std::move(file),
      {.threads = 2, .kv_memory = std::int64_t{256} << 20, .max_batch_tokens = kMaxBatchTokens});
  if (!model.ok()) return Fail(path + ": " + std::string(model.status().message()));
  std::ifstream in(prompts);
  std::ofstream out(target, std::ios::binary);
  for (std::string text; std::getline(in, text);) {
    std::istringstream line(text);
    std::vector<TokenId> prompt;
    for (TokenId token = 0; line >> token;) prompt.push_back(token);
    if (prompt.size() > static_cast<std::size_t>((*model)->pages()) * 16) {
      return Fail("a prompt is longer than the page pool");
    }
    const absl::Status status = DumpPrompt(**model, prompt, out);
    if (!status.ok()) return Fail(std::string(status.message()));
  }
  out.flush();
  return in.eof() && out ? 0 : Fail("the prompts cannot be read or the logits not written");
}

}  // namespace
}  // namespace banyan::model

int main(int argc, char** argv) {
  if (argc != 4) return banyan::model::Fail("usage: logits_dump MODEL.gguf PROMPTS OUT");
  return banyan::model::Dump(argv[1], argv[2], argv[3]);
}
