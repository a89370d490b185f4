#include "model/ggml_types.h"

namespace banyan::model {
namespace {

struct StoredType {
  std::uint32_t number;
  kernels::BlockShape shape;
};

// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and its ggml-common.h.
constexpr StoredType kWithoutKernels[] = {
    {2, {"Q4_0", 32, 18}},      {6, {"Q5_0", 32, 22}},      {7, {"Q5_1", 32, 24}},
    {9, {"Q8_1", 32, 36}},      {10, {"Q2_K", 256, 84}},    {11, {"Q3_K", 256, 110}},
    {12, {"Q4_K", 256, 144}},   {13, {"Q5_K", 256, 176}},   {14, {"Q6_K", 256, 210}},
    {15, {"Q8_K", 256, 292}},   {16, {"IQ2_XXS", 256, 66}}, {17, {"IQ2_XS", 256, 74}},
    {18, {"IQ3_XXS", 256, 98}}, {19, {"IQ1_S", 256, 50}},   {20, {"IQ4_NL", 32, 18}},
    {21, {"IQ3_S", 256, 110}},  {22, {"IQ2_S", 256, 82}},   {23, {"IQ4_XS", 256, 136}},
    {24, {"I8", 1, 1}},         {25, {"I16", 1, 2}},        {26, {"I32", 1, 4}},
    {27, {"I64", 1, 8}},        {28, {"F64", 1, 8}},        {29, {"IQ1_M", 256, 56}},
    {30, {"BF16", 1, 2}},       {34, {"TQ1_0", 256, 54}},   {35, {"TQ2_0", 256, 66}},
    {39, {"MXFP4", 32, 17}},
};

}  // namespace

std::optional<kernels::BlockShape> FindStoredType(std::uint32_t gguf_type) {
  if (const auto shape = kernels::FindBlockShape(gguf_type)) return shape;
  for (const StoredType& type : kWithoutKernels) {
    if (type.number == gguf_type) return type.shape;
  }
  return std::nullopt;
}

}  // namespace banyan::model
