#include "text/jinja/search.h"

#include <algorithm>
#include <cstring>

namespace banyan::text::jinja {

std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from) {
  if (wanted.size() == 1) return text.find(wanted[0], from);  // as most are; it looks no further
  if (from > text.size()) return std::string_view::npos;
  if (wanted.empty()) return from;
  // glibc's memmem is the two-way algorithm (Crochemore and Perrin 1991). A window at a time,
  // because under the address sanitizer it looks at all that it is given, however near the first
  // one is.
  const std::size_t window = std::max<std::size_t>(4096, 4 * wanted.size());
  while (text.size() - from >= wanted.size()) {
    const std::string_view part = text.substr(from, window);
    const void* found = memmem(part.data(), part.size(), wanted.data(), wanted.size());
    if (found != nullptr) {
      return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    }
    from += part.size() - wanted.size() + 1;
  }
  return std::string_view::npos;
}

BackwardSearch::BackwardSearch(Budget& budget, std::string_view text, std::string_view wanted)
    : budget_(budget), held_(text.size() + wanted.size()) {
  budget.Read(held_);
  budget.Hold(held_);
  text_.assign(text.rbegin(), text.rend());
  wanted_.assign(wanted.rbegin(), wanted.rend());
}

std::size_t BackwardSearch::Before(std::size_t end) const {
  const std::size_t found = FindText(text_, wanted_, text_.size() - end);
  if (found == std::string_view::npos) return found;
  return text_.size() - found - wanted_.size();
}

}  // namespace banyan::text::jinja
