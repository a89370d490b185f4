// Cuts bytes into entries: the lines of a file, or the elements of a JSON array where the first
// byte that is not white space is '['. What is kept is one entry, however long the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/workload/bytes.h"

namespace banyan::loadtest {

struct Entry {
  std::int64_t line = 0;  // where it begins, from 1
  std::string_view text;  // until the next call of Next; without white space at its ends
  bool too_long = false;  // over kMaxEntryBytes; the text is not kept
};

class EntryReader {
 public:
  static constexpr std::size_t kMaxEntryBytes = 16 << 20;

  // `bytes` outlives the reader.
  explicit EntryReader(ByteSource& bytes) : bytes_(bytes), chunk_(1 << 16) {}

  // nullopt at the end. Empty lines and a byte-order mark are passed over. An error is final: the
  // bytes cannot be read, or an array is not closed or followed by something.
  absl::StatusOr<std::optional<Entry>> Next();

 private:
  enum class Shape : std::uint8_t { kUnknown, kLines, kArray, kArrayEnded };

  absl::StatusOr<bool> Fill();  // false at the end of the bytes
  absl::Status Begin();
  absl::StatusOr<bool> SkipSpace();  // false at the end of the bytes
  absl::StatusOr<std::optional<Entry>> NextLine();
  absl::StatusOr<std::optional<Entry>> NextElement();
  absl::StatusOr<std::optional<Entry>> EndArray();
  void Keep(std::size_t to);  // chunk_[at_, to) belongs to the entry; at_ = to
  Entry Take(std::int64_t line);

  ByteSource& bytes_;
  std::vector<char> chunk_;
  std::size_t at_ = 0, end_ = 0;  // unread: chunk_[at_, end_)
  Shape shape_ = Shape::kUnknown;
  bool first_element_ = true;
  std::int64_t line_ = 1;
  std::string entry_;
  bool too_long_ = false;
};

}  // namespace banyan::loadtest
