// A server that does what a script says, at times by which it moves the clock.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/client.h"

namespace banyan::loadtest {

// What one exchange does: each step moves the clock, then something comes.
struct Step {
  Tick after{0};
  enum class What : std::uint8_t { kSent, kHead, kBody } what = What::kBody;
  std::string bytes;
  int status = 200;
};

struct Script {
  std::vector<Step> steps;
  http::ClientError error = http::ClientError::kNone;
};

class ScriptedClient final : public http::Client {
 public:
  explicit ScriptedClient(FakeClock& clock) : clock_(clock) {}

  boost::asio::awaitable<http::ClientResult> Exchange(const http::ClientRequest& request,
                                                      http::AnswerSink& sink) override {
    EXPECT_LT(bodies.size(), scripts.size()) << "a request too many";
    const Script& script = scripts.at(bodies.size());
    bodies.emplace_back(request.body);
    targets.emplace_back(request.target);
    for (const Step& step : script.steps) {
      clock_.Advance(step.after);
      const Tick now = clock_.Now();
      if (step.what == Step::What::kSent) sink.OnSent(now);
      if (step.what == Step::What::kHead) sink.OnHead(step.status, "text/event-stream", now);
      if (step.what == Step::What::kBody && !sink.OnBody(step.bytes, now)) break;
    }
    http::ClientResult result;
    result.error = script.error;
    if (script.error != http::ClientError::kNone) result.what = "what happened";
    co_return result;
  }
  void Stop() override {}
  std::size_t connections() const override { return 0; }

  std::vector<Script> scripts;
  std::vector<std::string> bodies;
  std::vector<std::string> targets;

 private:
  FakeClock& clock_;
};

inline std::string Event(const std::string& json) { return "data: " + json + "\n\n"; }
inline std::string Content(const std::string& text) {
  return Event(R"({"choices":[{"delta":{"content":")" + text + R"("}}]})");
}

}  // namespace banyan::loadtest
