#include "loadtest/workload/entries.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace banyan::loadtest {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Where an element of an array ends: knows strings and depth, not whether the JSON is right.
class ElementEnd {
 public:
  // Whether `c` is the comma or bracket behind the element.
  bool Ends(char c) {
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
      return false;
    }
    switch (c) {
      case '"':
        in_string_ = true;
        return false;
      case '[':
      case '{':
        ++depth_;
        return false;
      case ']':
      case '}':
        return depth_-- == 0;
      case ',':
        return depth_ == 0;
      default:
        return false;
    }
  }

 private:
  bool in_string_ = false;
  bool escaped_ = false;
  std::int64_t depth_ = 0;
};

}  // namespace

absl::StatusOr<std::optional<Entry>> EntryReader::Next() {
  if (shape_ == Shape::kUnknown) {
    if (absl::Status status = Begin(); !status.ok()) return status;
  }
  if (shape_ == Shape::kArray) return NextElement();
  if (shape_ == Shape::kArrayEnded) return EndArray();
  while (true) {
    absl::StatusOr<std::optional<Entry>> line = NextLine();
    if (!line.ok() || !line->has_value() || (*line)->too_long || !(*line)->text.empty()) {
      return line;
    }
  }
}

absl::StatusOr<bool> EntryReader::Fill() {
  if (at_ < end_) return true;
  const absl::StatusOr<std::size_t> got = bytes_.Read(chunk_.data(), chunk_.size());
  if (!got.ok()) return got.status();
  at_ = 0;
  end_ = *got;
  return end_ > 0;
}

absl::Status EntryReader::Begin() {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  for (const char c : kByteOrderMark) {
    const absl::StatusOr<bool> more = Fill();
    if (!more.ok()) return more.status();
    if (!*more || chunk_[at_] != c) break;
    ++at_;
  }
  const absl::StatusOr<bool> more = SkipSpace();
  if (!more.ok()) return more.status();
  shape_ = Shape::kLines;
  if (*more && chunk_[at_] == '[') {
    ++at_;
    shape_ = Shape::kArray;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> EntryReader::SkipSpace() {
  while (true) {
    const absl::StatusOr<bool> more = Fill();
    if (!more.ok() || !*more) return more;
    while (at_ < end_ && IsSpace(chunk_[at_])) line_ += chunk_[at_++] == '\n';
    if (at_ < end_) return true;
  }
}

void EntryReader::Keep(std::size_t to) {
  if (entry_.size() + (to - at_) > kMaxEntryBytes) too_long_ = true;
  if (too_long_) {
    entry_.clear();
  } else {
    entry_.append(&chunk_[at_], to - at_);
  }
  at_ = to;
}

Entry EntryReader::Take(std::int64_t line) {
  return {.line = line, .text = Trim(entry_), .too_long = too_long_};
}

absl::StatusOr<std::optional<Entry>> EntryReader::NextLine() {
  entry_.clear();
  too_long_ = false;
  const std::int64_t line = line_;
  bool any = false;
  while (true) {
    const absl::StatusOr<bool> more = Fill();
    if (!more.ok()) return more.status();
    if (!*more) {
      if (!any) return std::nullopt;
      return Take(line);
    }
    any = true;
    const void* const found = std::memchr(&chunk_[at_], '\n', end_ - at_);
    if (found == nullptr) {
      Keep(end_);
      continue;
    }
    Keep(static_cast<std::size_t>(static_cast<const char*>(found) - chunk_.data()));
    ++at_;
    ++line_;
    return Take(line);
  }
}

absl::StatusOr<std::optional<Entry>> EntryReader::NextElement() {
  entry_.clear();
  too_long_ = false;
  const absl::StatusOr<bool> any = SkipSpace();
  if (!any.ok()) return any.status();
  const std::int64_t line = line_;
  if (*any && first_element_ && chunk_[at_] == ']') {
    ++at_;
    shape_ = Shape::kArrayEnded;
    return EndArray();
  }
  first_element_ = false;
  ElementEnd end;
  while (true) {
    const absl::StatusOr<bool> more = Fill();
    if (!more.ok()) return more.status();
    if (!*more) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line, ": the array is not closed; is the file cut short?"));
    }
    std::size_t to = at_;
    while (to < end_ && !end.Ends(chunk_[to])) line_ += chunk_[to++] == '\n';
    const bool ended = to < end_;
    Keep(to);
    if (!ended) continue;
    if (chunk_[at_++] != ',') shape_ = Shape::kArrayEnded;
    return Take(line);
  }
}

absl::StatusOr<std::optional<Entry>> EntryReader::EndArray() {
  const absl::StatusOr<bool> more = SkipSpace();
  if (!more.ok()) return more.status();
  if (!*more) return std::nullopt;
  return absl::InvalidArgumentError(
      absl::StrCat("line ", line_, ": something follows the end of the array"));
}

}  // namespace banyan::loadtest
