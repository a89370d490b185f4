#include "loadtest/simulate/tokens.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/check.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

// `scattered` is Mix(key). One multiplication: there are hundreds of millions of tokens.
TokenId Token(std::uint64_t scattered, std::uint64_t index) {
  std::uint64_t bits = scattered ^ (index + 1) * kGolden;
  bits = (bits ^ bits >> 32) * 0xD6E8FEB86659FD93;
  return static_cast<TokenId>(bits >> 33);
}

TokenId TextToken(const std::string& text, std::size_t at) {
  std::uint32_t bits = 0;
  for (std::size_t i = at; i < std::min(text.size(), at + kBytesPerToken); ++i) {
    bits = bits << 8 | static_cast<std::uint8_t>(text[i]);
  }
  return static_cast<TokenId>(bits & 0x7FFFFFFF);
}

}  // namespace

TokenId TokenOf(std::uint64_t key, std::int64_t index) {
  return Token(Mix(key), static_cast<std::uint64_t>(index));
}

void AppendTokens(std::uint64_t key, std::int64_t tokens, std::vector<TokenId>& to) {
  const std::uint64_t scattered = Mix(key);
  const std::size_t before = to.size();
  to.resize(before + static_cast<std::size_t>(tokens));
  TokenId* const out = to.data() + before;
  for (std::int64_t i = 0; i < tokens; ++i) {
    out[i] = Token(scattered, static_cast<std::uint64_t>(i));
  }
}

void AppendTokens(const Message& message, std::int32_t least_segment, std::vector<TokenId>& to) {
  for (std::size_t at = 0; at < message.text.size(); at += kBytesPerToken) {
    to.push_back(TextToken(message.text, at));
  }
  for (const Segment& segment : message.segments) {
    AppendTokens(segment.key, std::max(segment.tokens, least_segment), to);
  }
}

std::int64_t CountTokens(const Message& message, std::int32_t least_segment) {
  auto tokens =
      static_cast<std::int64_t>((message.text.size() + kBytesPerToken - 1) / kBytesPerToken);
  for (const Segment& segment : message.segments) {
    tokens += std::max(segment.tokens, least_segment);
  }
  return tokens;
}

std::uint64_t AnswerKey(std::int64_t conversation, std::int64_t turn) {
  return HashKey(static_cast<std::uint64_t>(conversation), ~static_cast<std::uint64_t>(turn));
}

std::int64_t AnswerTokens(const Turn& turn) {
  return turn.output_tokens > 0 ? turn.output_tokens : kAnswerTokens;
}

std::vector<TokenId> Prompt(const Workload& workload, std::int64_t conversation, std::int64_t turn,
                            std::span<const std::int64_t> answers, std::int32_t least_segment) {
  CHECK(std::ssize(answers) >= turn);
  const auto& turns = workload.conversations[static_cast<std::size_t>(conversation)].turns;
  std::int64_t size = 0;
  for (std::int64_t i = 0; i <= turn; ++i) {
    for (const Message& message : turns[static_cast<std::size_t>(i)].messages) {
      size += CountTokens(message, least_segment);
    }
    if (i < turn) size += answers[static_cast<std::size_t>(i)];
  }
  std::vector<TokenId> tokens;
  tokens.reserve(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i <= turn; ++i) {
    for (const Message& message : turns[static_cast<std::size_t>(i)].messages) {
      AppendTokens(message, least_segment, tokens);
    }
    if (i < turn) {
      AppendTokens(AnswerKey(conversation, i), answers[static_cast<std::size_t>(i)], tokens);
    }
  }
  return tokens;
}

}  // namespace banyan::loadtest
