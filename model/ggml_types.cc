#include "model/ggml_types.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "model/model.h"

namespace banyan::model {
namespace {

struct StoredType {
  std::uint32_t number;
  kernels::BlockShape shape;
};

// https://github.com/ggml-org/ggml: docs/gguf.md, include/ggml.h and src/ggml-common.h. Those that
// kernels::DType has are there.
constexpr StoredType kWithoutKernels[] = {
    {9, {"Q8_1", 32, 36}},      {10, {"Q2_K", 256, 84}},    {11, {"Q3_K", 256, 110}},
    {15, {"Q8_K", 256, 292}},   {16, {"IQ2_XXS", 256, 66}}, {17, {"IQ2_XS", 256, 74}},
    {18, {"IQ3_XXS", 256, 98}}, {19, {"IQ1_S", 256, 50}},   {20, {"IQ4_NL", 32, 18}},
    {21, {"IQ3_S", 256, 110}},  {22, {"IQ2_S", 256, 82}},   {23, {"IQ4_XS", 256, 136}},
    {24, {"I8", 1, 1}},         {25, {"I16", 1, 2}},        {26, {"I32", 1, 4}},
    {27, {"I64", 1, 8}},        {28, {"F64", 1, 8}},        {29, {"IQ1_M", 256, 56}},
    {34, {"TQ1_0", 256, 54}},   {35, {"TQ2_0", 256, 66}},   {39, {"MXFP4", 32, 17}},
    {40, {"NVFP4", 64, 36}},    {41, {"Q1_0", 128, 18}},    {42, {"Q2_0", 64, 18}},
};

struct RemovedType {
  std::uint32_t number;
  std::string_view name;
};

// Numbers that files of the past used and the format took back.
constexpr RemovedType kRemoved[] = {
    {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
};

// Past every number that the format has had so far.
constexpr std::uint32_t kEndOfTypes = 64;

}  // namespace

std::optional<kernels::BlockShape> FindStoredType(std::uint32_t gguf_type) {
  if (const auto shape = kernels::FindBlockShape(gguf_type)) return shape;
  for (const StoredType& type : kWithoutKernels) {
    if (type.number == gguf_type) return type.shape;
  }
  return std::nullopt;
}

std::string_view FindRemovedType(std::uint32_t gguf_type) {
  for (const RemovedType& type : kRemoved) {
    if (type.number == gguf_type) return type.name;
  }
  return {};
}

std::string SupportedTypes() {
  std::string names;
  for (std::uint32_t type = 0; type < kEndOfTypes; ++type) {
    const std::optional<kernels::BlockShape> shape = kernels::FindBlockShape(type);
    if (shape) absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(shape->name));
  }
  return names;
}

std::string_view TensorTypeName(std::uint32_t type) {
  const std::optional<kernels::BlockShape> shape = FindStoredType(type);
  CHECK(shape.has_value());
  return shape->name;
}

}  // namespace banyan::model
