// Finding a string in another in time that is linear in both, whatever they are: the standard
// library's search takes their product at worst.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/jinja/budget.h"

namespace banyan::text::jinja {

// Where `wanted` first begins at or after `from`; npos: nowhere.
std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from);

// The same from the end, any number of times. `text` must outlive it.
class BackwardSearch {
 public:
  BackwardSearch(Budget& budget, std::string_view text, std::string_view wanted);
  BackwardSearch(const BackwardSearch&) = delete;
  BackwardSearch& operator=(const BackwardSearch&) = delete;
  ~BackwardSearch() { budget_.Release(held_); }

  // Where the last one begins that ends at or before `end`; npos: there is none.
  std::size_t Before(std::size_t end) const;

 private:
  Budget& budget_;
  std::size_t held_;
  std::string text_;  // backwards, both
  std::string wanted_;
};

}  // namespace banyan::text::jinja
