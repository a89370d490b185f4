// Cuts bytes into records: the lines of a file, or the elements of a JSON array where the first
// byte that is not white space is '['. What is kept is one record, however long the file.
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

struct Record {
  std::int64_t line = 0;  // where it begins, from 1
  std::string_view text;  // until the next call of Next; without white space at its ends
  bool too_long = false;  // over kMaxRecordBytes; the text is not kept
};

class RecordReader {
 public:
  static constexpr std::size_t kMaxRecordBytes = 16 << 20;

  // `bytes` outlives the reader.
  explicit RecordReader(ByteSource& bytes) : bytes_(bytes), chunk_(1 << 16) {}

  // nullopt at the end. Empty lines and a byte-order mark are passed over. An error is final: the
  // bytes cannot be read, or an array is not closed or followed by something.
  absl::StatusOr<std::optional<Record>> Next();

 private:
  enum class Shape : std::uint8_t { kUnknown, kLines, kArray, kArrayEnded };

  absl::StatusOr<bool> Fill();  // false at the end of the bytes
  absl::Status Begin();
  absl::StatusOr<bool> SkipSpace();  // false at the end of the bytes
  absl::StatusOr<std::optional<Record>> NextLine();
  absl::StatusOr<std::optional<Record>> NextElement();
  absl::StatusOr<std::optional<Record>> EndArray();
  void Keep(std::size_t to);  // chunk_[at_, to) belongs to the record; at_ = to
  Record Take(std::int64_t line);

  ByteSource& bytes_;
  std::vector<char> chunk_;
  std::size_t at_ = 0, end_ = 0;  // unread: chunk_[at_, end_)
  Shape shape_ = Shape::kUnknown;
  bool first_element_ = true;
  std::int64_t line_ = 1;
  std::string record_;
  bool too_long_ = false;
};

}  // namespace banyan::loadtest
