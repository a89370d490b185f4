#include "loadtest/workload/trace.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "loadtest/workload/bytes.h"
#include "loadtest/workload/collection.h"
#include "loadtest/workload/entries.h"
#include "loadtest/workload/formats.h"
#include "loadtest/workload/json.h"
#include "loadtest/workload/trace_stream.h"

namespace banyan::loadtest {
namespace {

struct FormatName {
  TraceFormat format;
  const char* name;
};
constexpr std::array kNames = {
    FormatName{TraceFormat::kAuto, "auto"},         FormatName{TraceFormat::kMooncake, "mooncake"},
    FormatName{TraceFormat::kBailian, "bailian"},   FormatName{TraceFormat::kAzure, "azure"},
    FormatName{TraceFormat::kBurstGpt, "burstgpt"}, FormatName{TraceFormat::kShareGpt, "sharegpt"},
    FormatName{TraceFormat::kWildChat, "wildchat"}, FormatName{TraceFormat::kAiperf, "aiperf"},
};

std::string NameOf(TraceFormat format) {
  for (const FormatName& known : kNames) {
    if (known.format == format) return known.name;
  }
  return "unknown";
}

absl::StatusOr<TraceFormat> DetectJson(std::string_view entry) {
  JsonReader reader;
  const absl::StatusOr<const boost::json::object*> object = reader.Read(entry);
  if (!object.ok()) return object.status();
  const auto has = [&object](std::string_view name) {
    return FindMember(**object, name) != nullptr;
  };
  if (has("conversations")) return TraceFormat::kShareGpt;
  if (has("conversation")) return TraceFormat::kWildChat;
  if (has("turns") || has("text") || has("texts")) return TraceFormat::kAiperf;
  if (has("chat_id")) return TraceFormat::kBailian;
  if (has("input_length") || has("text_input")) return TraceFormat::kMooncake;
  return absl::InvalidArgumentError("an object of no known trace");
}

absl::StatusOr<TraceFormat> Detect(const Entry& entry) {
  if (entry.text.starts_with('{')) return DetectJson(entry.text);
  if (entry.text.find("ContextTokens") != std::string_view::npos) return TraceFormat::kAzure;
  if (entry.text.find("Request tokens") != std::string_view::npos) return TraceFormat::kBurstGpt;
  return absl::InvalidArgumentError(absl::StrCat("neither JSON nor the header of a known trace: ",
                                                 Quote(entry.text.substr(0, 200))));
}

bool IsCsv(TraceFormat format) {
  return format == TraceFormat::kAzure || format == TraceFormat::kBurstGpt;
}

absl::StatusOr<std::unique_ptr<FormatReader>> MakeReader(TraceFormat format,
                                                         std::string_view first) {
  switch (format) {
    case TraceFormat::kMooncake:
      return MakeMooncakeReader();
    case TraceFormat::kBailian:
      return MakeBailianReader();
    case TraceFormat::kShareGpt:
      return MakeShareGptReader();
    case TraceFormat::kWildChat:
      return MakeWildChatReader();
    case TraceFormat::kAiperf:
      return MakeAiperfReader();
    case TraceFormat::kAzure:
    case TraceFormat::kBurstGpt:
      return MakeCsvReader(format, first);
    case TraceFormat::kAuto:
      break;
  }
  return absl::InvalidArgumentError("no format");
}

// One reading of one source.
class Reading {
 public:
  Reading(ByteSource& bytes, std::string name, const TraceOptions& options)
      : entries_(bytes),
        name_(std::move(name)),
        options_(options),
        format_(options.format),
        collection_(options.max_requests) {}

  absl::StatusOr<Workload> Run() {
    while (!collection_.full()) {
      const absl::StatusOr<std::optional<Entry>> entry = entries_.Next();
      if (!entry.ok()) return Fault(name_, entry.status());
      if (!entry->has_value()) break;
      if (absl::Status status = Use(**entry); !status.ok()) {
        return Fault(absl::StrCat(name_, ":", (*entry)->line), status);
      }
    }
    workload_.conversations = collection_.Finish();
    if (workload_.conversations.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(name_, ": there is no request in it"));
    }
    workload_.source = absl::StrCat(NameOf(format_), " ", name_);
    workload_.block_tokens = reader_->block_tokens();
    return std::move(workload_);
  }

 private:
  static absl::Status Fault(std::string_view where, const absl::Status& status) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(where), ": ", std::string(status.message())));
  }

  // An error ends the reading.
  absl::Status Use(const Entry& entry) {
    if (reader_ == nullptr) {
      if (absl::Status status = Begin(entry); !status.ok()) return status;
      if (IsCsv(format_)) return absl::OkStatus();  // it was the header
    }
    const absl::Status status = entry.too_long
                                    ? absl::InvalidArgumentError("it is longer than 16 MiB")
                                    : reader_->Read(entry, collection_);
    if (status.ok() || options_.bad_lines == TraceOptions::BadLines::kFatal) return status;
    if (workload_.bad_lines.size() == kMaxBadLines) {
      return absl::InvalidArgumentError(absl::StrCat(
          "more than ", kMaxBadLines, " lines are malformed, this one too: ", status.message()));
    }
    workload_.bad_lines.push_back({.line = entry.line, .why = std::string(status.message())});
    return absl::OkStatus();
  }

  absl::Status Begin(const Entry& first) {
    if (format_ == TraceFormat::kAuto) {
      const absl::StatusOr<TraceFormat> found = Detect(first);
      if (!found.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the format cannot be told: ", found.status().message()));
      }
      format_ = *found;
    }
    absl::StatusOr<std::unique_ptr<FormatReader>> reader = MakeReader(format_, first.text);
    if (!reader.ok()) return reader.status();
    reader_ = *std::move(reader);
    return absl::OkStatus();
  }

  EntryReader entries_;
  const std::string name_;
  const TraceOptions& options_;
  TraceFormat format_;
  std::unique_ptr<FormatReader> reader_;
  Collection collection_;
  Workload workload_;
};

}  // namespace

absl::StatusOr<TraceFormat> ParseTraceFormat(std::string_view name) {
  std::string names;
  for (const FormatName& known : kNames) {
    if (name == known.name) return known.format;
    absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no format of traces is called ", Quote(name), ": ", names));
}

absl::StatusOr<Workload> ReadTraceStream(ByteSource& bytes, const std::string& name,
                                         const TraceOptions& options) {
  if (options.max_requests < 0) return absl::InvalidArgumentError("max_requests is negative");
  return Reading(bytes, name, options).Run();
}

absl::StatusOr<Workload> ReadTrace(const std::string& path, const TraceOptions& options) {
  const absl::StatusOr<std::unique_ptr<ByteSource>> bytes = OpenBytes(path);
  if (!bytes.ok()) return bytes.status();
  return ReadTraceStream(**bytes, path, options);
}

}  // namespace banyan::loadtest
