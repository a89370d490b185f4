// Byte-level vocabularies spell each byte as one printable character, so that a token of any bytes
// is a string: bytes 21-7E, A1-AC and AE-FF are the characters of the same number, the other 68 are
// U+0100 and up, in order. Source: GPT-2's encoder (Radford et al. 2019, bytes_to_unicode).
// Stateless, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace banyan::text {

std::string SpellBytes(std::string_view bytes);

// The bytes that `spelling` stands for; nothing when it has a character outside the alphabet.
std::optional<std::string> BytesOfSpelling(std::string_view spelling);

}  // namespace banyan::text
