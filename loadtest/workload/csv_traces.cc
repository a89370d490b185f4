// Traces of lengths alone, as CSV: Azure's and BurstGPT. Their prompts share nothing.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "loadtest/workload/formats.h"
#include "loadtest/workload/json.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

constexpr std::uint64_t kRow = 0x726f77;  // above keys of prompts
constexpr std::size_t kMaxColumns = 64;

// Fields between commas, without spaces and quotes around them; none of these files has a comma
// inside a field. At most kMaxColumns + 1.
std::vector<std::string_view> Split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (fields.size() <= kMaxColumns) {
    const std::size_t comma = line.find(',');
    std::string_view field = line.substr(0, comma);
    while (!field.empty() && (field.front() == ' ' || field.front() == '"')) field.remove_prefix(1);
    while (!field.empty() && (field.back() == ' ' || field.back() == '"')) field.remove_suffix(1);
    fields.push_back(field);
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return fields;
}

template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

absl::StatusOr<std::int64_t> ParseTokens(std::string_view text, std::string_view name,
                                         std::int64_t min) {
  const std::optional<std::int64_t> tokens = Parse<std::int64_t>(text);
  if (tokens.has_value() && *tokens >= min && *tokens <= kMaxTokens) return *tokens;
  return absl::InvalidArgumentError(absl::StrCat(std::string(name), " is ", Quote(text),
                                                 ", not a whole number from ", min, " to ",
                                                 kMaxTokens));
}

// Takes `text`'s first characters as a number of exactly so many digits.
std::optional<int> TakeDigits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  const std::optional<int> number = Parse<int>(text.substr(0, digits));
  if (number.value_or(-1) < 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool Take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Up to nine digits behind a point, as nanoseconds.
std::optional<Tick> TakeFraction(std::string_view& text) {
  if (!Take(text, '.')) return Tick(0);
  Tick::rep fraction = 0, unit = 1'000'000'000;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (unit == 1) return std::nullopt;
    unit /= 10;
    fraction += unit * (text.front() - '0');
    text.remove_prefix(1);
  }
  if (unit == 1'000'000'000) return std::nullopt;
  return Tick(fraction);
}

// "", "Z" or "+HH:MM".
std::optional<Tick> TakeZone(std::string_view& text) {
  if (text.empty() || Take(text, 'Z')) return Tick(0);
  const bool west = Take(text, '-');
  if (!west && !Take(text, '+')) return std::nullopt;
  const std::optional<int> hours = TakeDigits(text, 2);
  Take(text, ':');
  const std::optional<int> minutes = TakeDigits(text, 2);
  if (!hours.has_value() || !minutes.has_value() || *hours > 23 || *minutes > 59) {
    return std::nullopt;
  }
  const Tick zone = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return west ? -zone : zone;
}

// "2023-11-16 18:15:46.6805900", "2024-05-12 00:00:00+00:00": since 1970.
std::optional<Tick> ParseDate(std::string_view text) {
  using std::chrono::sys_days;
  const auto year = TakeDigits(text, 4);
  if (!Take(text, '-')) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!Take(text, '-')) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!Take(text, ' ') && !Take(text, 'T')) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  if (!Take(text, ':')) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!Take(text, ':')) return std::nullopt;
  const auto second = TakeDigits(text, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const auto fraction = TakeFraction(text);
  const auto zone = TakeZone(text);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!fraction || !zone || !text.empty() || !date.ok()) return std::nullopt;
  if (*year < 1971 || *year > 2200 || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  return sys_days(date).time_since_epoch() + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second) + *fraction - *zone;
}

// Where a row's fields are.
struct Columns {
  std::size_t count = 0;
  std::size_t time = 0, prompt = 0, answer = 0;
  std::optional<std::size_t> session;
};

// The one column of this name; nullopt when there is none.
absl::StatusOr<std::optional<std::size_t>> FindColumn(const std::vector<std::string_view>& header,
                                                      std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  if (std::find(found + 1, header.end(), name) != header.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the column ", std::string(name), " is there twice"));
  }
  return static_cast<std::size_t>(found - header.begin());
}

absl::StatusOr<std::size_t> Column(const std::vector<std::string_view>& header,
                                   std::string_view name) {
  const auto found = FindColumn(header, name);
  if (!found.ok()) return found.status();
  if (!found->has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header names no column ", std::string(name)));
  }
  return **found;
}

class CsvReader final : public FormatReader {
 public:
  CsvReader(TraceFormat format, Columns columns) : format_(format), columns_(columns) {}

  absl::Status Read(const Entry& entry, Collection& into) override {
    const std::vector<std::string_view> fields = Split(entry.text);
    if (fields.size() != columns_.count) {
      return absl::InvalidArgumentError(
          absl::StrCat(fields.size(), " fields, where the header has ", columns_.count));
    }
    const absl::StatusOr<Tick> at = ParseTime(fields[columns_.time]);
    if (!at.ok()) return at.status();
    const auto prompt = ParseTokens(fields[columns_.prompt], "the prompt's length", 1);
    if (!prompt.ok()) return prompt.status();
    const auto answer = ParseTokens(fields[columns_.answer], "the answer's length", 0);
    if (!answer.ok()) return answer.status();
    Turn turn;
    turn.at = *at;
    turn.output_tokens = std::max<std::int64_t>(1, *answer);
    const std::string session(columns_.session.has_value() ? fields[*columns_.session] : "");
    turn.number = session.empty() ? 1 : NextNumber(session);
    turn.messages.push_back(
        {.role = Role::kUser,
         .text = {},
         .segments = {{.key = HashKey(kRow, static_cast<std::uint64_t>(entry.line)),
                       .tokens = static_cast<std::int32_t>(*prompt)}}});
    Conversation conversation{.id = session.empty() ? absl::StrCat(entry.line) : session,
                              .turns = {}};
    conversation.turns.push_back(std::move(turn));
    return into.Add(std::move(conversation));
  }

 private:
  absl::StatusOr<Tick> ParseTime(std::string_view text) const {
    if (format_ == TraceFormat::kBurstGpt) {
      const std::optional<double> seconds = Parse<double>(text);
      if (seconds.has_value()) return TimeOf(*seconds, std::chrono::seconds(1), "the timestamp");
    } else if (const std::optional<Tick> date = ParseDate(text)) {
      return *date;
    }
    return absl::InvalidArgumentError(absl::StrCat("the timestamp is ", Quote(text)));
  }

  std::int32_t NextNumber(const std::string& session) { return ++sessions_[HashOf(session)]; }
  static std::uint64_t HashOf(std::string_view text) {
    std::uint64_t hash = 0;
    for (const char c : text) hash = HashKey(hash, static_cast<unsigned char>(c));
    return hash;
  }

  const TraceFormat format_;
  const Columns columns_;
  absl::flat_hash_map<std::uint64_t, std::int32_t> sessions_;  // requests so far, by name's hash
};

}  // namespace

absl::StatusOr<std::unique_ptr<FormatReader>> MakeCsvReader(TraceFormat format,
                                                            std::string_view line) {
  const std::vector<std::string_view> header = Split(line);
  if (header.size() > kMaxColumns) return absl::InvalidArgumentError("more than 64 columns");
  const bool azure = format == TraceFormat::kAzure;
  const auto time = Column(header, azure ? "TIMESTAMP" : "Timestamp");
  if (!time.ok()) return time.status();
  const auto prompt = Column(header, azure ? "ContextTokens" : "Request tokens");
  if (!prompt.ok()) return prompt.status();
  const auto answer = Column(header, azure ? "GeneratedTokens" : "Response tokens");
  if (!answer.ok()) return answer.status();
  const auto session = FindColumn(header, "Session ID");
  if (!session.ok()) return session.status();
  return std::make_unique<CsvReader>(format, Columns{.count = header.size(),
                                                     .time = *time,
                                                     .prompt = *prompt,
                                                     .answer = *answer,
                                                     .session = *session});
}

}  // namespace banyan::loadtest
