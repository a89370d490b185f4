#include "tests/sim/reader.h"

#include <algorithm>

namespace banyan::sim {

using scheduler::FinishReason;
using scheduler::StreamEvent;
using scheduler::Usage;

void Reader::Read(Client& client) {
  client.woken = false;
  client.stream->Take(events_);
  // The end is one more than its capacity.
  Require(events_.size() <= client.capacity + 1, "had %d events in a stream of %d", client.id,
          static_cast<std::int64_t>(events_.size()), static_cast<std::int64_t>(client.capacity));
  client.unread = events_.size();
  for (const StreamEvent& event : events_) ReadEvent(client, event);
}

void Reader::ReadEvent(Client& client, const StreamEvent& event) const {
  Require(!client.read_end, "has an event after its end", client.id);
  switch (event.kind) {
    case StreamEvent::Kind::kAdmitted:
      Require(!client.read_admitted, "reads twice that it was admitted", client.id);
      Require(event.cached_tokens == client.cached, "reads that %d tokens were cached, not %d",
              client.id, event.cached_tokens, client.cached);
      client.read_admitted = true;
      return;
    case StreamEvent::Kind::kPromptScores:
      Require(client.read_admitted && client.read_tokens == 0, "reads scores out of order",
              client.id);
      Require(!event.scores.empty(), "reads an event without scores", client.id);
      for (const ScoredToken& score : event.scores) {
        Require(client.read_scores < client.oracle.prompt_scores.size() &&
                    Same(score, client.oracle.prompt_scores[client.read_scores]),
                "reads a wrong score of token %d of its prompt", client.id,
                static_cast<std::int64_t>(client.read_scores) + 1);
        ++client.read_scores;
      }
      return;
    case StreamEvent::Kind::kToken: {
      Require(client.read_admitted, "reads a token before it was admitted", client.id);
      const ScoredToken token{event.token, event.log_probability, event.top};
      Require(client.read_tokens < client.oracle.sampled.size() &&
                  Same(token, client.oracle.sampled[client.read_tokens]),
              "reads token %d as its token %d", client.id, event.token,
              static_cast<std::int64_t>(client.read_tokens));
      ++client.read_tokens;
      return;
    }
    case StreamEvent::Kind::kFinished:
      ReadEnd(client, event);
      return;
  }
}

void Reader::ReadEnd(Client& client, const StreamEvent& event) const {
  Require(client.finished && event.reason == client.reason,
          "reads that it ended by %d, and was told %d", client.id,
          static_cast<std::int64_t>(event.reason), static_cast<std::int64_t>(client.reason));
  const Usage& a = event.usage;
  const Usage& b = client.usage;
  Require(a.prompt_tokens == b.prompt_tokens && a.cached_tokens == b.cached_tokens &&
              a.output_tokens == b.output_tokens && a.limit == b.limit &&
              a.preemptions == b.preemptions && a.kept_tokens == b.kept_tokens &&
              a.dropped_tokens == b.dropped_tokens && a.queued == b.queued &&
              a.prefill == b.prefill && a.decode == b.decode,
          "reads another usage than was told", client.id);
  client.read_end = true;
  CheckReason(client);
  CheckWhole(client);
}

// Each way to end has its cause.
void Reader::CheckReason(const Client& client) const {
  const bool complete = client.sampled == static_cast<std::int64_t>(client.oracle.sampled.size());
  bool caused = false;
  switch (client.reason) {
    case FinishReason::kStop:
      caused = client.ask == Ask::kStopString ||
               (complete && client.oracle.reason == FinishReason::kStop);
      break;
    case FinishReason::kLength:
      caused = complete && client.oracle.reason == FinishReason::kLength;
      break;
    case FinishReason::kCancelled:
      caused = client.ask == Ask::kCancel;
      break;
    case FinishReason::kSlowReader:
      caused = client.unread == client.capacity + 1;  // full, and the end
      break;
    case FinishReason::kFailed:
      caused = client.in_failed_step;
      break;
    case FinishReason::kRefused:
      caused = !client.fits;
      break;
    case FinishReason::kShutdown:
      caused = stage_.scheduler == nullptr;
      break;
    case FinishReason::kNone:
      break;
  }
  Require(caused, "ended by %d without cause", client.id, static_cast<std::int64_t>(client.reason));
}

void Reader::CheckWhole(const Client& client) const {
  const Oracle& oracle = client.oracle;
  const bool by_string = client.ask == Ask::kStopString && client.reason == FinishReason::kStop;
  const bool whole = client.reason == FinishReason::kLength ||
                     (client.reason == FinishReason::kStop && !by_string);
  const auto accepted = static_cast<std::size_t>(client.sampled);
  const bool ended =
      accepted > 0 && accepted == oracle.sampled.size() && oracle.reason == FinishReason::kStop;
  // All that was sampled was sent, but an end token and what a full stream refused.
  const std::size_t refused =
      client.reason == FinishReason::kSlowReader && accepted > client.read_tokens ? 1 : 0;
  Require(client.read_tokens == accepted - (ended ? 1 : 0) - refused,
          "read %d tokens of %d that were sampled", client.id,
          static_cast<std::int64_t>(client.read_tokens), client.sampled);
  if (!whole) return;
  Require(client.sampled == static_cast<std::int64_t>(oracle.sampled.size()) &&
              client.read_scores == oracle.prompt_scores.size(),
          "ended whole with %d tokens of %d", client.id, client.sampled,
          static_cast<std::int64_t>(oracle.sampled.size()));
}

}  // namespace banyan::sim
