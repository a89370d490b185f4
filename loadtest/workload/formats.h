// One reader for each format of traces: turns an entry into requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "loadtest/workload/collection.h"
#include "loadtest/workload/entries.h"
#include "loadtest/workload/trace.h"

namespace banyan::loadtest {

class FormatReader {
 public:
  virtual ~FormatReader() = default;
  // kInvalidArgument says what is wrong with the entry, which then added nothing. `into` is not
  // full. An entry that asks nothing (a chat without a question) adds nothing, and that is no
  // fault.
  virtual absl::Status Read(const Entry& entry, Collection& into) = 0;
  virtual std::int32_t block_tokens() const { return 0; }  // as in Workload
};

std::unique_ptr<FormatReader> MakeMooncakeReader();
std::unique_ptr<FormatReader> MakeBailianReader();
std::unique_ptr<FormatReader> MakeShareGptReader();
std::unique_ptr<FormatReader> MakeWildChatReader();
std::unique_ptr<FormatReader> MakeAiperfReader();
// Of kAzure or kBurstGpt. `header`: the first line, which says where the columns are;
// kInvalidArgument when one is missing or there twice.
absl::StatusOr<std::unique_ptr<FormatReader>> MakeCsvReader(TraceFormat format,
                                                            std::string_view header);

}  // namespace banyan::loadtest
