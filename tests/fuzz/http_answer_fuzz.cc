// Any bytes as an HTTP answer: handed on within bounds, and to the same end however they are cut.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/answer_parser.h"

namespace {

using namespace banyan::http;  // NOLINT
using State = AnswerParser::State;

constexpr std::size_t kMaxBody = 1 << 10;

void Require(bool holds) {
  if (!holds) std::abort();
}

struct Sink final : AnswerSink {
  void OnSent(banyan::Tick) override {}
  void OnHead(int code, std::string_view type, banyan::Tick) override {
    Require(status == 0);
    status = code;
    content_type = type;
  }
  bool OnBody(std::string_view bytes, banyan::Tick) override {
    Require(status != 0);
    body += bytes;
    Require(body.size() <= kMaxBody);
    return true;
  }
  bool operator==(const Sink& other) const {
    return status == other.status && content_type == other.content_type && body == other.body;
  }

  int status = 0;
  std::string content_type;
  std::string body;
};

State Parse(std::string_view bytes, std::size_t step, Sink& sink) {
  AnswerParser parser(AnswerParser::Content::kWhole, kMaxBody, sink);
  std::string held;
  while (!bytes.empty() && parser.state() != State::kDone && parser.state() != State::kFailed) {
    held += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    held.erase(0, parser.Feed(held, banyan::Tick(0)));
    Require(parser.state() == State::kFailed || parser.state() == State::kDone ||
            held.size() < AnswerParser::kMaxHeadBytes);
  }
  parser.End();
  Require(parser.state() == State::kDone || parser.state() == State::kFailed);
  Require((parser.state() == State::kFailed) == (parser.error() != ClientError::kNone));
  return parser.state();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Longer ones meet the bound of a head, which depends on how they are cut.
  if (size >= AnswerParser::kMaxHeadBytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Sink whole;
  Sink cut;
  const State of_whole = Parse(bytes, std::max<std::size_t>(size, 1), whole);
  const State of_cut = Parse(bytes, 1 + size % 7, cut);
  Require(of_whole == of_cut);
  Require(of_whole == State::kFailed || whole == cut);
  return 0;
}
