// Workloads made by hand, for tests of the simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "loadtest/simulate/simulate.h"

namespace banyan::loadtest {

inline Message Words(std::vector<Segment> segments) {
  Message message;
  message.segments = std::move(segments);
  return message;
}

inline Turn Ask(std::optional<Tick> at, std::vector<Segment> segments, std::int64_t output) {
  Turn turn;
  turn.at = at;
  turn.messages.push_back(Words(std::move(segments)));
  turn.output_tokens = output;
  return turn;
}

inline Conversation Talk(std::vector<Turn> turns) {
  Conversation conversation;
  for (std::size_t i = 0; i < turns.size(); ++i) turns[i].number = static_cast<std::int32_t>(i) + 1;
  conversation.turns = std::move(turns);
  return conversation;
}

inline Workload Of(std::vector<Conversation> conversations) {
  Workload workload;
  workload.conversations = std::move(conversations);
  return workload;
}

// Requests of one turn whose blocks have these keys, one after another.
inline Workload Blocks(std::int32_t block_tokens,
                       const std::vector<std::vector<std::uint64_t>>& requests) {
  Workload workload;
  workload.block_tokens = block_tokens;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::vector<Segment> segments;
    for (const std::uint64_t key : requests[i]) segments.push_back({key, block_tokens});
    segments.back().tokens = 1;  // the last one is not whole
    workload.conversations.push_back(
        Talk({Ask(std::chrono::milliseconds(i), std::move(segments), 1)}));
  }
  return workload;
}

// Conversations of several turns that share system prompts; some are too long for small pools.
inline Workload RandomWorkload(std::uint64_t seed, int conversations) {
  std::mt19937_64 random(seed);
  const auto between = [&](std::uint64_t low, std::uint64_t high) {
    return static_cast<std::int32_t>(low + random() % (high - low + 1));
  };
  Workload workload;
  for (int i = 0; i < conversations; ++i) {
    std::vector<Turn> turns;
    const auto count = between(1, 4);
    for (std::int32_t turn = 0; turn < count; ++turn) {
      std::vector<Segment> segments;
      if (turn == 0) segments.push_back({static_cast<std::uint64_t>(between(1, 4)), 40});
      segments.push_back({random(), between(1, between(0, 9) == 0 ? 400 : 30)});
      std::optional<Tick> at;
      if (turn == 0) at = std::chrono::milliseconds(between(0, 500));
      turns.push_back(Ask(at, std::move(segments), between(1, 40)));
      turns.back().think = std::chrono::milliseconds(between(0, 20));
    }
    workload.conversations.push_back(Talk(std::move(turns)));
  }
  return workload;
}

}  // namespace banyan::loadtest
