// What is known of one request when it is over. Ticks are since the run began.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace banyan::loadtest {

enum class Outcome : std::uint8_t {
  kOk,
  kUnresolved,   // no such host
  kRefused,      // no connection
  kTls,          // no handshake, or a certificate that is not trusted
  kReset,        // the connection broke
  kTruncated,    // it was closed before the answer was complete
  kTimeout,      // nothing came for too long
  kStatus,       // an answer of another status than 200
  kMalformed,    // not HTTP, not events, not JSON, or not what the API says
  kErrorEvent,   // an error inside the stream
  kEmpty,        // complete, and without any content
  kInterrupted,  // the run ended before the answer did
};
inline constexpr int kOutcomes = static_cast<int>(Outcome::kInterrupted) + 1;
std::string_view Name(Outcome outcome);  // "ok", "unresolved", ...: the word in reports
std::optional<Outcome> ParseOutcome(std::string_view name);

struct Record {
  std::int64_t conversation = 0;  // index in the workload
  std::int32_t turn = 1;          // its number there
  Outcome outcome = Outcome::kOk;
  int status = 0;     // of HTTP; 0: none came
  std::string error;  // what the server or the system said; empty when ok

  Tick scheduled{0};  // when it should have been sent
  // When its first byte was handed to the system, after any connecting; 0 when it never was.
  Tick sent{0};
  // Events with content, whatever came before them (a role, a keep-alive comment); nullopt: none
  // came.
  std::optional<Tick> first_content;
  Tick last_content{0};
  Tick end{0};           // the answer was complete, or failed
  Tick client_delay{0};  // from `scheduled` to the moment the client turned to it: its own lag

  std::int64_t content_events = 0;
  std::int64_t wanted_prompt_tokens = 0;  // by the source; 0: unknown
  std::int64_t prompt_tokens = -1;        // by the server's usage, as the two below; -1: not told
  std::int64_t cached_tokens = -1;
  std::int64_t output_tokens = -1;
  std::string finish_reason;

  bool was_sent() const { return sent > Tick(0); }

  // The definitions of docs/loadtest.md, of requests that are ok.
  Tick ttft() const { return *first_content - sent; }
  Tick ttft_scheduled() const { return *first_content - scheduled; }
  Tick latency() const { return end - sent; }
  std::int64_t tokens() const { return output_tokens >= 0 ? output_tokens : content_events; }
  // Mean time per output token after the first; nullopt with less than two tokens, or events.
  std::optional<Tick> tpot() const;
  std::optional<double> hit_rate() const;  // cached / prompt; nullopt when not told
};

}  // namespace banyan::loadtest
