#include "loadtest/client/answer_part.h"

#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <cstddef>

namespace banyan::loadtest {
namespace {

namespace json = boost::json;
using json::error_code;

constexpr std::size_t kMaxDepth = 64;

// Where a value stands.
enum class Place : std::uint8_t {
  kElsewhere,
  kRoot,
  kObjectKind,  // "object": "error" in older answers of vLLM
  kRootMessage,
  kChoices,
  kChoice,
  kDelta,
  kContent,
  kReasoning,  // counts as content, and does not go back to the server
  kToolCalls,
  kToolCall,
  kFunction,
  kFinishReason,
  kUsage,
  kPromptTokens,
  kOutputTokens,
  kPromptDetails,
  kCachedTokens,
  kTimings,  // llama.cpp
  kError,
  kErrorMessage,
};

Place ElementOf(Place array) {
  if (array == Place::kChoices) return Place::kChoice;
  if (array == Place::kToolCalls) return Place::kToolCall;
  return Place::kElsewhere;
}

Place RootMember(std::string_view key) {
  if (key == "choices") return Place::kChoices;
  if (key == "usage") return Place::kUsage;
  if (key == "error") return Place::kError;
  if (key == "timings") return Place::kTimings;
  if (key == "object") return Place::kObjectKind;
  if (key == "message") return Place::kRootMessage;
  return Place::kElsewhere;
}

Place ChoiceMember(std::string_view key, Api api) {
  if (key == "finish_reason") return Place::kFinishReason;
  if (api == Api::kCompletions) return key == "text" ? Place::kContent : Place::kElsewhere;
  return key == "delta" || key == "message" ? Place::kDelta : Place::kElsewhere;
}

Place DeltaMember(std::string_view key) {
  if (key == "content") return Place::kContent;
  if (key == "reasoning_content" || key == "reasoning") return Place::kReasoning;
  return key == "tool_calls" ? Place::kToolCalls : Place::kElsewhere;
}

Place UsageMember(std::string_view key) {
  if (key == "prompt_tokens") return Place::kPromptTokens;
  if (key == "completion_tokens") return Place::kOutputTokens;
  return key == "prompt_tokens_details" ? Place::kPromptDetails : Place::kElsewhere;
}

Place MemberOf(Place object, std::string_view key, Api api) {
  switch (object) {
    case Place::kRoot:
      return RootMember(key);
    case Place::kChoice:
      return ChoiceMember(key, api);
    case Place::kDelta:
      return DeltaMember(key);
    case Place::kToolCall:
      return key == "function" ? Place::kFunction : Place::kElsewhere;
    case Place::kFunction:
      return key == "name" || key == "arguments" ? Place::kReasoning : Place::kElsewhere;
    case Place::kUsage:
      return UsageMember(key);
    case Place::kPromptDetails:
      return key == "cached_tokens" ? Place::kCachedTokens : Place::kElsewhere;
    case Place::kTimings:
      return key == "cache_n" ? Place::kCachedTokens : Place::kElsewhere;
    case Place::kError:
      return key == "message" ? Place::kErrorMessage : Place::kElsewhere;
    default:
      return Place::kElsewhere;
  }
}

class Handler {
 public:
  static constexpr std::size_t max_object_size = std::size_t{1} << 30;
  static constexpr std::size_t max_array_size = std::size_t{1} << 30;
  static constexpr std::size_t max_key_size = std::size_t{1} << 20;
  static constexpr std::size_t max_string_size = std::size_t{1} << 30;

  explicit Handler(Api api) : api_(api) {}

  void Begin(AnswerPart& part) {
    part_ = &part;
    depth_ = 0;
    value_ = Place::kRoot;
    error_object_ = false;
    root_message_.clear();
    key_.clear();
  }

  void End() {
    if (error_object_ && !part_->error) part_->error = root_message_;
    if (part_->error) part_->known = true;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    const Place place = Here();
    if (place == Place::kUsage) part_->known = true;
    if (place == Place::kError) part_->error.emplace();
    return Open(place, Kind::kObject);
  }
  bool on_object_end(std::size_t, error_code&) { return Close(); }
  bool on_array_begin(error_code&) {
    const Place place = Here();
    if (place == Place::kChoices) part_->known = true;
    return Open(place, Kind::kArray);
  }
  bool on_array_end(std::size_t, error_code&) { return Close(); }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    key_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    std::string_view key(part.data(), part.size());
    if (!key_.empty()) key = key_.append(key);
    value_ = MemberOf(open_[depth_ - 1].place, key, api_);
    key_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) { return Text(part); }
  bool on_string(json::string_view part, std::size_t, error_code&) { return Text(part); }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t number, json::string_view, error_code&) {
    if (number < 0) return true;
    switch (Here()) {
      case Place::kPromptTokens:
        part_->prompt_tokens = number;
        break;
      case Place::kOutputTokens:
        part_->output_tokens = number;
        break;
      case Place::kCachedTokens:
        part_->cached_tokens = number;
        break;
      default:
        break;
    }
    return true;
  }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  enum class Kind : std::uint8_t { kObject, kArray };
  struct Container {
    Place place;
    Kind kind;
  };

  // The place of the value that begins.
  Place Here() const {
    if (depth_ == 0 || open_[depth_ - 1].kind == Kind::kObject) return value_;
    return ElementOf(open_[depth_ - 1].place);
  }

  bool Open(Place place, Kind kind) {
    open_[depth_++] = {place, kind};  // the parser bounds the depth
    return true;
  }
  bool Close() {
    --depth_;
    return true;
  }

  // The whole of a string, or the next of it.
  bool Text(json::string_view part) {
    switch (Here()) {
      case Place::kContent:
        part_->text.append(part.data(), part.size());
        [[fallthrough]];
      case Place::kReasoning:
        part_->bytes += static_cast<std::int64_t>(part.size());
        break;
      case Place::kFinishReason:
        part_->finish_reason.append(part.data(), part.size());
        break;
      case Place::kError:
      case Place::kErrorMessage:
        if (!part_->error) part_->error.emplace();
        part_->error->append(part.data(), part.size());
        break;
      case Place::kObjectKind:
        error_object_ = part == "error";
        break;
      case Place::kRootMessage:
        root_message_.append(part.data(), part.size());
        break;
      default:
        break;
    }
    return true;
  }

  const Api api_;
  AnswerPart* part_ = nullptr;
  std::array<Container, kMaxDepth + 1> open_{};
  std::size_t depth_ = 0;
  Place value_ = Place::kRoot;  // of what follows the last key
  std::string key_;             // its parts so far
  bool error_object_ = false;
  std::string root_message_;
};

json::parse_options ParseOptions() {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  return options;
}

}  // namespace

struct AnswerParser::Machine {
  explicit Machine(Api api) : parser(ParseOptions(), api) {}

  json::basic_parser<Handler> parser;
};

AnswerParser::AnswerParser(Api api) : machine_(std::make_unique<Machine>(api)) {}
AnswerParser::~AnswerParser() = default;
AnswerParser::AnswerParser(AnswerParser&&) noexcept = default;
AnswerParser& AnswerParser::operator=(AnswerParser&&) noexcept = default;

bool AnswerParser::Parse(std::string_view json, AnswerPart& part) {
  part.text.clear();
  part.bytes = 0;
  part.finish_reason.clear();
  part.prompt_tokens = part.cached_tokens = part.output_tokens = -1;
  part.error.reset();
  part.known = false;

  auto& parser = machine_->parser;
  parser.reset();
  parser.handler().Begin(part);
  error_code error;
  const std::size_t used = parser.write_some(false, json.data(), json.size(), error);
  if (error || used != json.size()) return false;
  parser.handler().End();
  return true;
}

}  // namespace banyan::loadtest
