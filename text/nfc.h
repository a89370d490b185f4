// Unicode's Normalization Form C, as the reference's normalizer computes it: `nfc.inc` names how it
// was asked. Source: Unicode Standard Annex 15. Stateless, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace banyan::text {

// Nothing when `text`, which is UTF-8, is in that form by the looks of each character; else its
// normal form. Time is O(n log n) in the longest run of combining marks.
std::optional<std::string> ToNfc(std::string_view text);

}  // namespace banyan::text
