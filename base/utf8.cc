#include "base/utf8.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace banyan {
namespace {

// What a leading byte asks of the bytes after it. Only the second byte has a range of its own, the
// others are 80..BF: that keeps out overlong forms, surrogates and numbers over 10FFFF.
struct Lead {
  std::size_t length = 0;  // 0: no character begins so
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead LeadOf(unsigned char byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.length = 2};
  if (byte == 0xE0) return {.length = 3, .low = 0xA0};
  if (byte == 0xED) return {.length = 3, .high = 0x9F};
  if (byte < 0xF0) return {.length = 3};
  if (byte == 0xF0) return {.length = 4, .low = 0x90};
  if (byte < 0xF4) return {.length = 4};
  if (byte == 0xF4) return {.length = 4, .high = 0x8F};
  return {};
}

// How many leading bytes are ASCII, counted in whole blocks of eight.
std::size_t AsciiBlocks(std::string_view bytes) {
  std::size_t at = 0;
  while (at + 8 <= bytes.size()) {
    std::uint64_t block;
    std::memcpy(&block, bytes.data() + at, sizeof(block));
    if ((block & 0x8080808080808080u) != 0) break;
    at += sizeof(block);
  }
  return at;
}

}  // namespace

Utf8Step NextUtf8(std::string_view bytes) {
  DCHECK(!bytes.empty());
  Lead lead = LeadOf(static_cast<unsigned char>(bytes[0]));
  if (lead.length == 0) return {Utf8Form::kIllFormed, 1};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {Utf8Form::kUnfinished, i};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte < lead.low || byte > lead.high) return {Utf8Form::kIllFormed, i};
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return {Utf8Form::kCharacter, lead.length};
}

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, BeginsCharacter));
}

std::size_t FirstInvalidUtf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (static_cast<unsigned char>(bytes[at]) < 0x80) {
      const std::size_t ascii = AsciiBlocks(bytes.substr(at));
      at += ascii == 0 ? 1 : ascii;
      continue;
    }
    const Utf8Step step = NextUtf8(bytes.substr(at));
    if (step.form != Utf8Form::kCharacter) return at;
    at += step.length;
  }
  return std::string_view::npos;
}

std::string ToValidUtf8(std::string_view bytes) {
  std::string valid;
  valid.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = NextUtf8(bytes);
    valid +=
        step.form == Utf8Form::kCharacter ? bytes.substr(0, step.length) : kReplacementCharacter;
    bytes.remove_prefix(step.length);
  }
  return valid;
}

}  // namespace banyan
