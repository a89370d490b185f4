// What a template may use: whoever wrote it, it can neither hang nor fill memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan::text::jinja {

// Of the template's text. The longest in use have under 20 KiB.
inline constexpr std::size_t kMaxTemplateBytes = 1 << 18;
// Blocks within blocks and expressions within expressions, the template itself being the first;
// operators in a row too.
inline constexpr int kMaxNesting = 200;
// Levels of evaluation at a time: an operator's operand, a block's body, a macro's call is one more
// each. A macro that calls itself costs about four a call.
inline constexpr int kMaxDepth = 1000;
// Lists and mappings within each other, in values.
inline constexpr int kMaxValueDepth = 200;
// One for each expression, statement, and item of a list that is looked at, one for every
// kBytesPerStep bytes that are copied or compared, and one for every kReadBytesPerStep that are
// read one by one. A few seconds' worth at most.
inline constexpr std::uint64_t kMaxSteps = 1 << 24;
inline constexpr std::size_t kBytesPerStep = 64;
inline constexpr std::size_t kReadBytesPerStep = 8;
// Keys in one path that a filter takes ("a.b.c"), and bytes of a date's format.
inline constexpr std::size_t kMaxPathKeys = 64;
inline constexpr std::size_t kMaxTimeFormatBytes = 1024;
// In one string; so in the output too.
inline constexpr std::size_t kMaxStringBytes = 16 << 20;
// In all values and unfinished strings at a time.
inline constexpr std::size_t kMaxHeldBytes = 64 << 20;
// As in jinja2's sandbox.
inline constexpr std::int64_t kMaxRange = 100000;

}  // namespace banyan::text::jinja
