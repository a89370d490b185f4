#include "loadtest/run/session.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace banyan::loadtest {
namespace {

using boost::asio::awaitable;

Outcome OutcomeOf(http::ClientError error) {
  switch (error) {
    case http::ClientError::kNone:
      return Outcome::kOk;
    case http::ClientError::kUnresolved:
      return Outcome::kUnresolved;
    case http::ClientError::kRefused:
      return Outcome::kRefused;
    case http::ClientError::kTls:
      return Outcome::kTls;
    case http::ClientError::kReset:
      return Outcome::kReset;
    case http::ClientError::kTruncated:
      return Outcome::kTruncated;
    case http::ClientError::kTimeout:
      return Outcome::kTimeout;
    case http::ClientError::kMalformed:
      return Outcome::kMalformed;
    case http::ClientError::kStopped:
      return Outcome::kInterrupted;
  }
  return Outcome::kMalformed;
}

// Hands an answer to its reader.
class TurnSink final : public http::AnswerSink {
 public:
  TurnSink(const Bed& bed, AnswerReader& reader, Record& record)
      : bed_(bed), reader_(reader), record_(record) {}

  void OnSent(Tick at) override { record_.sent = at - bed_.start; }
  void OnHead(int status, std::string_view content_type, Tick at) override {
    reader_.Head(status, content_type, at - bed_.start);
  }
  // An answer is read to its end after [DONE] too, so that its connection can be used again.
  bool OnBody(std::string_view bytes, Tick at) override {
    reader_.Body(bytes, at - bed_.start);
    Count();
    return !reader_.failed();
  }
  // Events that are new since it was called.
  void Count() {
    const std::vector<ContentEvent>& events = reader_.events();
    for (; counted_ < events.size(); ++counted_) bed_.recorder.Content(events[counted_].at);
  }

 private:
  const Bed& bed_;
  AnswerReader& reader_;
  Record& record_;
  std::size_t counted_ = 0;
};

}  // namespace

Session::Session(Bed& bed, const Conversation& conversation, std::int64_t index)
    : bed_(bed), conversation_(conversation), index_(index), dialogue_(bed.format, bed.vocabulary) {
  Say(conversation.turns.front());
}

void Session::Say(const Turn& turn) {
  for (const Message& message : turn.messages) {
    dialogue_.Add(message);
    if (message.segments.empty()) wanted_tokens_ = -1;
    if (wanted_tokens_ < 0) continue;
    for (const Segment& segment : message.segments) wanted_tokens_ += segment.tokens;
  }
}

awaitable<void> Session::Run(Due due) {
  for (std::size_t i = 0; i < conversation_.turns.size(); ++i) {
    const Turn& turn = conversation_.turns[i];
    if (i > 0) {
      Say(turn);
      due = NextDue(turn, LoopOf(bed_.options), answered_);
      due.ready = std::max(due.ready, free_);
      if (!co_await WaitFor(due)) co_return;
    }
    const bool open = bed_.Open(bed_.Now());
    bool ok = false;
    if (open) ok = co_await Send(turn, due);
    bed_.waiting.Leave();
    if (!ok) co_return;
  }
}

awaitable<bool> Session::WaitFor(const Due& due) {
  if (!bed_.Open(due.ready)) co_return false;
  const bool came = co_await bed_.waiting.Until(bed_.start + due.ready);
  if (!came) co_return false;
  co_return co_await bed_.waiting.Enter();
}

awaitable<bool> Session::Send(const Turn& turn, const Due& due) {
  const Tick now = bed_.Now();
  // Who still waits will not be sent.
  if (--bed_.requests_left == 0) bed_.waiting.Stop();

  Record record;
  record.conversation = index_;
  record.turn = turn.number;
  record.scheduled = due.scheduled;
  record.client_delay = std::max(now - due.ready, Tick(0));
  record.wanted_prompt_tokens = std::max<std::int64_t>(wanted_tokens_, 0);

  AnswerReader reader(bed_.options.target.api);
  TurnSink sink(bed_, reader, record);
  http::ClientRequest request;
  request.method = "POST";
  request.target = bed_.format.path();
  request.body = dialogue_.Body(turn.output_tokens);
  bed_.recorder.Sent(now);
  const http::ClientResult result = co_await bed_.client.Exchange(request, sink);

  const bool over = reader.done() || reader.failed();
  free_ = bed_.Now();
  reader.Finish(free_, record);
  sink.Count();  // an answer that is not streamed is read only now
  const bool refused = record.outcome == Outcome::kStatus;
  if (result.error != http::ClientError::kNone && !over && !refused) {
    record.outcome = OutcomeOf(result.error);
    record.error = result.what;
  }
  answered_ = record.end;
  const bool ok = record.outcome == Outcome::kOk;
  if (ok) {
    dialogue_.AddAnswer(reader.text());
    if (wanted_tokens_ >= 0) wanted_tokens_ += record.tokens();
  }
  bed_.recorder.Ended(std::move(record), reader.events());
  co_return ok;
}

}  // namespace banyan::loadtest
