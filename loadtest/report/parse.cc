#include <cmath>
#include <limits>
#include <memory>

#include <boost/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "loadtest/report/json_fields.h"
#include "loadtest/report/report.h"

namespace banyan::loadtest {
namespace {

namespace bj = boost::json;

// No sum or difference of what a report may hold overflows.
constexpr std::int64_t kMostTime = Tick(std::chrono::hours(24 * 366)).count();
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();

// Reads the members of one object. The first that is missing or wrong is remembered, with where it
// was; what is read after it is of no use.
class Reader {
 public:
  Reader(const bj::value* value, std::string where, absl::Status& status)
      : where_(std::move(where)), status_(status) {
    if (value == nullptr || !value->is_object()) {
      Fail("is not an object");
    } else {
      object_ = &value->get_object();
    }
  }

  const bj::value* Find(const char* name) const {
    return object_ == nullptr ? nullptr : object_->if_contains(name);
  }

  std::int64_t Integer(const char* name, std::int64_t least, std::int64_t most) {
    const bj::value* value = Find(name);
    const std::int64_t* number = value == nullptr ? nullptr : value->if_int64();
    if (number == nullptr || *number < least || *number > most) {
      Fail(absl::StrCat("wants an integer \"", name, "\" from ", least, " to ", most));
      return least;
    }
    return *number;
  }

  Tick Time(const char* name) { return Tick(Integer(name, 0, kMostTime)); }

  // NaN for null.
  double Number(const char* name) {
    const bj::value* value = Find(name);
    if (value != nullptr && value->is_null()) return std::nan("");
    if (value == nullptr || !value->is_number()) {
      Fail(absl::StrCat("wants a number \"", name, "\""));
      return 0;
    }
    return value->to_number<double>();
  }

  bool Truth(const char* name) {
    const bj::value* value = Find(name);
    if (value != nullptr && value->is_bool()) return value->get_bool();
    Fail(absl::StrCat("wants true or false as \"", name, "\""));
    return false;
  }

  // "" where there is none.
  std::string String(const char* name) {
    const bj::value* value = Find(name);
    if (value == nullptr) return "";
    if (value->is_string())
      return std::string(value->get_string().c_str(), value->get_string().size());
    Fail(absl::StrCat("wants a string \"", name, "\""));
    return "";
  }

  const bj::array& Array(const char* name) {
    static const bj::array kNone;
    const bj::value* value = Find(name);
    if (value != nullptr && value->is_array()) return value->get_array();
    Fail(absl::StrCat("wants an array \"", name, "\""));
    return kNone;
  }

  Reader Object(const char* name) {
    return Reader(Find(name), absl::StrCat(where_, ".", name), status_);
  }

  void Fail(const std::string& what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(where_, " ", what));
  }

  const bj::object* object() const { return object_; }
  bool ok() const { return status_.ok(); }

 private:
  const bj::object* object_ = nullptr;
  const std::string where_;
  absl::Status& status_;
};

Histogram ReadHistogram(Reader reader) {
  std::vector<Histogram::Bucket> buckets;
  for (const bj::value& bucket : reader.Array("buckets")) {
    const bj::array* pair = bucket.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_int64() || !(*pair)[1].is_int64()) {
      reader.Fail("has a bucket that is not [value, count]");
      return Histogram();
    }
    buckets.emplace_back((*pair)[0].get_int64(), (*pair)[1].get_int64());
  }
  const std::int64_t min = reader.Integer("min", 0, kMostNumber);
  const std::int64_t max = reader.Integer("max", 0, kMostNumber);
  auto histogram = Histogram::From(buckets, min, max, reader.Integer("sum", 0, kMostNumber));
  if (histogram.ok()) return *std::move(histogram);
  reader.Fail(absl::StrCat("is not a histogram: ", histogram.status().message()));
  return Histogram();
}

Record ReadRecord(Reader reader) {
  Record record;
  record.conversation = reader.Integer("conversation", 0, kMostNumber);
  record.turn = static_cast<std::int32_t>(
      reader.Integer("turn", 1, std::numeric_limits<std::int32_t>::max()));
  const std::string outcome = reader.String("outcome");
  if (const auto known = ParseOutcome(outcome)) {
    record.outcome = *known;
  } else {
    reader.Fail(absl::StrCat("has an \"outcome\" that is none: ", Quote(outcome)));
  }
  record.status = static_cast<int>(reader.Integer("status", 0, 999));
  record.content_events = reader.Integer("content_events", 0, kMostTokens);
  record.wanted_prompt_tokens = reader.Integer("wanted_prompt_tokens", 0, kMostTokens);
  for (const auto& [name, time] : json::kTimes) record.*time = reader.Time(name);
  if (reader.Find("first_content_ns") != nullptr) {
    record.first_content = reader.Time("first_content_ns");
  } else if (record.outcome == Outcome::kOk) {
    reader.Fail("is ok without \"first_content_ns\"");
  }
  for (const auto& [name, tokens] : json::kUsage) {
    if (reader.Find(name) != nullptr) record.*tokens = reader.Integer(name, 0, kMostTokens);
  }
  record.finish_reason = reader.String("finish_reason");
  record.error = reader.String("error");
  return record;
}

Second ReadSecond(Reader reader) {
  Second second;
  for (const auto& [name, count] : json::kSecond) {
    second.*count = reader.Integer(name, 0, kMostTokens);
  }
  second.in_flight = static_cast<std::int32_t>(
      reader.Integer("in_flight", 0, std::numeric_limits<std::int32_t>::max()));
  return second;
}

ServerSample ReadSample(Reader reader) {
  ServerSample sample;
  sample.at = reader.Time("at_ns");
  for (const auto& [name, value] : json::kServer) sample.*value = reader.Number(name);
  return sample;
}

template <typename Row>
void ReadRows(const char* name, Row (*read)(Reader), Reader& reader, absl::Status& status,
              std::vector<Row>& rows) {
  const bj::array& array = reader.Array(name);
  rows.reserve(array.size());
  for (const bj::value& value : array) {
    rows.push_back(read(Reader(&value, absl::StrCat(name, "[", rows.size(), "]"), status)));
    if (!status.ok()) return;
  }
}

void ReadFacts(Reader reader, Result& result) {
  if (reader.object() == nullptr) return;
  for (const auto& [name, value] : *reader.object()) {
    const std::string key(name.data(), name.size());
    result.facts.emplace_back(key, reader.String(key.c_str()));
  }
}

Report ReadReport(const bj::value& value, absl::Status& status) {
  Report report;
  Result& result = report.result;
  Reader reader(&value, "the report", status);
  if (const std::string schema = reader.String("schema"); schema != json::kSchema) {
    reader.Fail(absl::StrCat("is of the schema ", Quote(schema), ", not '", json::kSchema, "'"));
    return report;
  }
  ReadFacts(reader.Object("facts"), result);
  Reader slo = reader.Object("slo");
  for (const auto& [name, limit] : json::kSlo) {
    if (slo.Find(name) != nullptr) report.slo.*limit = slo.Time(name);
  }
  result.warm_up = reader.Time("warm_up_ns");
  result.duration = reader.Time("duration_ns");
  result.interrupted = reader.Truth("interrupted");
  result.inter_token = ReadHistogram(reader.Object("inter_token_ns"));
  Reader client = reader.Object("client");
  result.client.cpu_share = client.Number("cpu_share");
  result.client.lag = ReadHistogram(client.Object("lag_ns"));
  ReadRows("timeline", ReadSecond, reader, status, result.timeline);
  ReadRows("server", ReadSample, reader, status, result.server);
  ReadRows("requests", ReadRecord, reader, status, result.records);
  return report;
}

}  // namespace

absl::StatusOr<Report> ParseReport(std::string_view json) {
  // Values point into the storage, so it must outlive them; they are all gone with this call.
  bj::monotonic_resource storage;
  bj::parser parser(&storage);
  bj::error_code error;
  const std::size_t read = parser.write(json.data(), json.size(), error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON: ", error.message(), " at byte ", read, " of ", json.size()));
  }
  const bj::value value = parser.release();
  absl::Status status;
  Report report = ReadReport(value, status);
  if (!status.ok()) return status;
  return report;
}

}  // namespace banyan::loadtest
