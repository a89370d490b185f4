// What a load test asks: conversations of turns, whatever they were read or made from.
//
// Content is either text or segments. A segment is a stretch of tokens that its key determines, so
// that prompts share exactly what their sources say they share, without anyone's words: block
// hashes of traces, system prompts and questions of the generator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace banyan::loadtest {

enum class Role : std::uint8_t { kSystem, kUser, kAssistant };

// Equal keys and lengths are equal tokens, and a shorter segment of a key begins a longer one.
struct Segment {
  std::uint64_t key = 0;
  std::int32_t tokens = 0;  // >= 1

  bool operator==(const Segment&) const = default;
};

struct Message {
  Role role = Role::kUser;
  std::string text;               // of sources that have text;
  std::vector<Segment> segments;  // else of those that have lengths
};

struct Turn {
  std::int32_t number = 1;  // of its conversation, from 1
  // When it is sent, since the workload began, in sources that say so. If the answer before it is
  // not complete by then it is sent as soon as that is, and the wait counts as the server's.
  std::optional<Tick> at;
  Tick think{0};                   // else: so long after the end of the answer before
  std::vector<Message> messages;   // what it adds; the server's own answers lie between turns
  std::int64_t output_tokens = 0;  // to be asked for; 0: as the server likes
};

struct Conversation {
  std::string id;           // of the source, or its number there
  std::vector<Turn> turns;  // at least one
};

// A line of a source that could not be read.
struct BadLine {
  std::int64_t line = 0;  // from 1
  std::string why;
};

struct Workload {
  std::string source;  // for reports: format and file, or the generator's parameters
  std::vector<Conversation> conversations;  // in order of their first turns
  std::vector<BadLine> bad_lines;           // that were skipped, in order
  std::int32_t block_tokens = 0;            // of sources made of blocks (512, 16); 0: others
};

// Requests in all.
std::int64_t CountTurns(const Workload& workload);

}  // namespace banyan::loadtest
