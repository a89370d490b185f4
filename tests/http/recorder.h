// An AnswerSink that keeps everything, and can act on it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/client.h"

namespace banyan::http {

struct Recorder final : AnswerSink {
  void OnSent(Tick at) override {
    ++sent;
    sent_at = at;
    if (on_sent) on_sent();
  }
  void OnHead(int code, std::string_view type, Tick at) override {
    ++heads;
    status = code;
    content_type = type;
    head_at = at;
    if (on_head) on_head();
  }
  bool OnBody(std::string_view bytes, Tick at) override {
    body += bytes;
    pieces.emplace_back(bytes);
    times.push_back(at);
    return !on_body || on_body();
  }

  int sent = 0;
  Tick sent_at{0};
  int heads = 0;
  int status = 0;
  std::string content_type;
  Tick head_at{0};
  std::string body;
  std::vector<std::string> pieces;
  std::vector<Tick> times;  // of the pieces

  std::function<void()> on_sent;
  std::function<void()> on_head;
  std::function<bool()> on_body;  // after each piece; what it returns is the sink's word
};

}  // namespace banyan::http
