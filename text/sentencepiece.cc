#include "text/sentencepiece.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace banyan::text {
namespace {

constexpr char kScoresKey[] = "tokenizer.ggml.scores";

struct Split {
  BpeMerge merge;
  double score = 0;
  int left = 0;  // characters
  int right = 0;
};

// In the order of the parts' ids.
void AddSplits(const Vocabulary& vocabulary, TokenId token, double score,
               std::vector<Split>& splits) {
  const std::string_view text = vocabulary.Spelling(token);
  const int characters = static_cast<int>(CountCharacters(text));
  const auto first = static_cast<std::ptrdiff_t>(splits.size());
  int left_characters = 0;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (!BeginsCharacter(text[at])) continue;
    ++left_characters;
    const std::optional<TokenId> left = vocabulary.FindMergeable(text.substr(0, at));
    if (!left) continue;
    const std::optional<TokenId> right = vocabulary.FindMergeable(text.substr(at));
    if (!right) continue;
    splits.push_back({.merge = {.left = *left, .right = *right, .result = token},
                      .score = score,
                      .left = left_characters,
                      .right = characters - left_characters});
  }
  std::sort(splits.begin() + first, splits.end(), [](const Split& a, const Split& b) {
    return a.merge.left != b.merge.left ? a.merge.left < b.merge.left
                                        : a.merge.right < b.merge.right;
  });
}

}  // namespace

absl::StatusOr<std::vector<BpeMerge>> MergesFromScores(const Vocabulary& vocabulary,
                                                       std::span<const double> scores) {
  if (scores.size() != static_cast<std::size_t>(vocabulary.size())) {
    return absl::InvalidArgumentError(absl::StrCat(kScoresKey, ": ", scores.size(),
                                                   " entries, but tokenizer.ggml.tokens has ",
                                                   vocabulary.size()));
  }
  std::vector<Split> splits;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const double score = scores[static_cast<std::size_t>(id)];
    if (std::isnan(score)) {
      return absl::InvalidArgumentError(
          absl::StrCat(kScoresKey, ": the score of token ", id, " is not a number"));
    }
    const std::string_view spelling = vocabulary.Spelling(id);
    if (vocabulary.FindMergeable(spelling) != id) continue;
    if (spelling.size() > kMaxMergedBytes) {
      return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.tokens: token ", id, " has ",
                                                     spelling.size(), " bytes, more than ",
                                                     kMaxMergedBytes));
    }
    const bool user_defined = vocabulary.type(id) == TokenType::kUserDefined;
    AddSplits(vocabulary, id, user_defined ? 0 : score, splits);
  }
  std::stable_sort(splits.begin(), splits.end(), [](const Split& a, const Split& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.left != b.left ? a.left > b.left : a.right > b.right;
  });
  std::vector<BpeMerge> merges;
  merges.reserve(splits.size());
  for (const Split& split : splits) merges.push_back(split.merge);
  return merges;
}

SentencePieceRuns::SentencePieceRuns(const Vocabulary& vocabulary, Prefix prefix)
    : prefix_(prefix) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view spelling = vocabulary.Spelling(id);
    if (vocabulary.FindMergeable(spelling) != id) continue;
    for (std::size_t mark = spelling.find(kSpaceMark, 1); mark != std::string_view::npos;
         mark = spelling.find(kSpaceMark, mark + 1)) {
      std::size_t before = mark - 1;
      while (!BeginsCharacter(spelling[before])) --before;
      std::uint8_t length = 0;
      before_marks_.insert(DecodeUtf8(spelling.substr(before), length));
    }
  }
}

bool SentencePieceRuns::CutsBefore(std::string_view text, std::size_t mark) const {
  std::size_t before = mark - 1;
  while (!BeginsCharacter(text[before])) --before;
  std::uint8_t length = 0;
  return !before_marks_.contains(DecodeUtf8(text.substr(before), length));
}

void SentencePieceRuns::ForEachRun(std::string_view text,
                                   absl::FunctionRef<void(std::string_view)> emit) const {
  std::string marked;
  marked.reserve(text.size() + text.size() / 2 + kSpaceMark.size());
  if (prefix_ == Prefix::kSpace) marked.append(kSpaceMark);
  for (std::size_t done = 0; done < text.size();) {
    const std::size_t space = std::min(text.find(' ', done), text.size());
    marked.append(text, done, space - done);
    if (space < text.size()) marked.append(kSpaceMark);
    done = space + 1;
  }
  const std::string_view all = marked;
  std::size_t begin = 0;
  for (std::size_t mark = all.find(kSpaceMark, 1); mark != std::string_view::npos;
       mark = all.find(kSpaceMark, mark + kSpaceMark.size())) {
    if (!CutsBefore(all, mark)) continue;
    emit(all.substr(begin, mark - begin));
    begin = mark;
  }
  emit(all.substr(begin));
}

}  // namespace banyan::text
