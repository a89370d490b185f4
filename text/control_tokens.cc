#include "text/control_tokens.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace banyan::text {
namespace {

std::uint64_t EdgeKey(std::int32_t node, char byte) {
  return (static_cast<std::uint64_t>(node) << 8) | static_cast<unsigned char>(byte);
}

}  // namespace

absl::StatusOr<ControlTokenFinder> ControlTokenFinder::Create(const Vocabulary& vocabulary) {
  ControlTokenFinder finder;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    if (type == TokenType::kNormal || type == TokenType::kUnused || type == TokenType::kByte) {
      continue;
    }
    const std::string_view spelling = vocabulary.Spelling(id);
    if (spelling.size() > kMaxControlTokenBytes) {
      return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.tokens: control token ", id,
                                                     " has ", spelling.size(), " bytes, more than ",
                                                     kMaxControlTokenBytes));
    }
    finder.Add(spelling, id);
    if (type == TokenType::kUserDefined) finder.user_defined_.insert(id);
  }
  return finder;
}

void ControlTokenFinder::Add(std::string_view spelling, TokenId id) {
  std::int32_t node = kRoot;
  for (const char byte : spelling) {
    const auto [edge, inserted] =
        children_.emplace(EdgeKey(node, byte), static_cast<std::int32_t>(ends_.size()));
    if (inserted) {
      ends_.push_back(kNone);
      if (node == kRoot) first_[static_cast<unsigned char>(byte)] = edge->second;
    }
    node = edge->second;
  }
  ends_[static_cast<std::size_t>(node)] = id;
}

std::int32_t ControlTokenFinder::Child(std::int32_t node, char byte) const {
  const auto edge = children_.find(EdgeKey(node, byte));
  return edge == children_.end() ? kNone : edge->second;
}

std::optional<ControlTokenFinder::Found> ControlTokenFinder::LongestAt(std::string_view text,
                                                                       std::size_t begin,
                                                                       Searched searched) const {
  std::int32_t node = first_[static_cast<unsigned char>(text[begin])];
  std::optional<Found> longest;
  for (std::size_t end = begin + 1; node != kNone; ++end) {
    const TokenId id = ends_[static_cast<std::size_t>(node)];
    if (id != kNone && (searched == Searched::kEveryToken || IsUserDefined(id))) {
      longest = Found{.begin = begin, .length = end - begin, .id = id};
    }
    if (end == text.size()) break;
    node = Child(node, text[end]);
  }
  return longest;
}

std::optional<ControlTokenFinder::Found> ControlTokenFinder::Find(std::string_view text,
                                                                  std::size_t from,
                                                                  Searched searched) const {
  if (searched == Searched::kUserDefined && user_defined_.empty()) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (first_[static_cast<unsigned char>(text[begin])] == kNone) continue;
    const std::optional<Found> longest = LongestAt(text, begin, searched);
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace banyan::text
