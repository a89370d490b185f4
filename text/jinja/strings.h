// What filters and methods do with strings. Every byte of a result keeps its origin: what is taken
// from a string, as it is or in another case, stays that string's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

enum class Casing : std::uint8_t { kUpper, kLower, kCapitalized, kTitle, kSwapped };
Value InCase(Budget& budget, const Value& string, Casing casing);
// Has letters with cases, and all of them are in this one: as str.islower, isupper.
bool AllInCase(Budget& budget, std::string_view text, Casing casing);

enum class Ends : std::uint8_t { kBoth, kLeft, kRight };
// Without characters of `chars` (kMissing, None: white space) at its ends.
Value Strip(Budget& budget, const Value& string, const Value& chars, Ends ends);

// The first `most` of them from the left; all when negative.
Value ReplaceAll(Budget& budget, const Value& string, const Value& from, const Value& to,
                 std::int64_t most);

// As str.splitlines.
std::vector<Value> Lines(Budget& budget, const Value& string, bool keep_ends);

// At most `most` cuts when that is not negative. A kMissing or None separator: at white space.
std::vector<Value> Split(Budget& budget, const Value& string, const Value& separator,
                         std::int64_t most);
std::vector<Value> SplitFromRight(Budget& budget, const Value& string, const Value& separator,
                                  std::int64_t most);

enum class Side : std::uint8_t { kLeft, kRight, kCenter };
// Filled up to `width` characters.
Value Justify(Budget& budget, const Value& string, std::int64_t width, const Value& fill,
              Side side);

}  // namespace banyan::text::jinja
