#include "text/bpe.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/quote.h"
#include "text/byte_alphabet.h"

namespace banyan::text {
namespace {

std::uint64_t PairKey(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

absl::Status BadMerge(std::size_t rank, std::string_view merge, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.merges: entry ", rank, " (",
                                                 Quote(merge), ") ", std::string(why)));
}

}  // namespace

absl::StatusOr<Bpe> Bpe::Create(const Vocabulary& vocabulary,
                                std::span<const std::string_view> merges) {
  if (merges.size() > kMaxVocabularySize) {
    return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.merges: ", merges.size(),
                                                   " entries, more than ", kMaxVocabularySize));
  }
  Bpe bpe;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    bpe.byte_ids_[static_cast<std::size_t>(byte)] =
        vocabulary.Find(SpellBytes({&c, 1}), TokenType::kNormal).value_or(kNoToken);
  }
  bpe.merges_.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const absl::Status status = bpe.AddMerge(vocabulary, merges[rank], rank);
    if (!status.ok()) return status;
  }
  bpe.AddWholeRuns(vocabulary);
  return bpe;
}

absl::Status Bpe::AddMerge(const Vocabulary& vocabulary, std::string_view merge, std::size_t rank) {
  const std::size_t space = merge.find(' ');
  if (space == std::string_view::npos || merge.find(' ', space + 1) != std::string_view::npos) {
    return BadMerge(rank, merge, "is not two tokens with one space between");
  }
  const std::string_view left = merge.substr(0, space);
  const std::string_view right = merge.substr(space + 1);
  const std::string joined = absl::StrCat(std::string(left), std::string(right));
  std::array<TokenId, 3> ids{};
  std::size_t filled = 0;
  for (const std::string_view part : {left, right, std::string_view(joined)}) {
    const std::optional<TokenId> id = vocabulary.Find(part, TokenType::kNormal);
    if (!id) {
      return BadMerge(rank, merge,
                      absl::StrCat("needs ", Quote(part), ", which is not a normal token of ",
                                   "tokenizer.ggml.tokens"));
    }
    ids[filled++] = *id;
  }
  const bool inserted =
      merges_.emplace(PairKey(ids[0], ids[1]), Merge{static_cast<std::int32_t>(rank), ids[2]})
          .second;
  if (!inserted) return BadMerge(rank, merge, "is there twice");
  return absl::OkStatus();
}

void Bpe::AddWholeRuns(const Vocabulary& vocabulary) {
  BpeScratch scratch;
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view bytes = vocabulary.Bytes(id);
    if (vocabulary.type(id) != TokenType::kNormal || bytes.empty()) continue;
    ids.clear();
    MergeRun(bytes, ids, scratch);
    if (ids.size() != 1 || ids[0] != id) continue;
    whole_runs_.emplace(bytes, id);
    longest_whole_run_ = std::max(longest_whole_run_, bytes.size());
  }
}

const Bpe::Merge* Bpe::FindMerge(TokenId left, TokenId right) const {
  const auto entry = merges_.find(PairKey(left, right));
  return entry == merges_.end() ? nullptr : &entry->second;
}

void Bpe::Encode(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const {
  if (run.size() <= longest_whole_run_) {
    const auto whole = whole_runs_.find(run);
    if (whole != whole_runs_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  MergeRun(run, ids, scratch);
}

void Bpe::MergeRun(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const {
  if (merges_.empty()) {
    AppendBytes(run, ids);
  } else if (run.size() <= kScanLimit) {
    MergeByScan(run, ids, scratch);
  } else {
    MergeByQueue(run, ids, scratch);
  }
}

void Bpe::AppendBytes(std::string_view run, std::vector<TokenId>& ids) const {
  for (const char c : run) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
    if (id != kNoToken) ids.push_back(id);
  }
}

void Bpe::MergeByScan(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const {
  // Symbol i is tokens[i]; pair i is (i, i + 1), of rank ranks[i] and result results[i].
  std::array<TokenId, kScanLimit> tokens;
  std::array<TokenId, kScanLimit> results;
  std::array<std::int32_t, kScanLimit> ranks;
  std::size_t count = 0;
  for (const char c : run) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
    if (id != kNoToken) tokens[count++] = id;
  }
  const auto rate = [&](std::size_t i) {
    const Merge* merge = FindMerge(tokens[i], tokens[i + 1]);
    ranks[i] = merge == nullptr ? kNoRank : merge->rank;
    results[i] = merge == nullptr ? kNoToken : merge->id;
  };
  for (std::size_t i = 0; i + 1 < count; ++i) rate(i);
  scratch.steps_ += static_cast<std::int64_t>(run.size());
  while (count > 1) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + count - 1);
    scratch.steps_ += static_cast<std::int64_t>(count);
    if (*best == kNoRank) break;
    const auto at = static_cast<std::size_t>(best - ranks.begin());
    tokens[at] = results[at];
    std::copy(tokens.begin() + at + 2, tokens.begin() + count, tokens.begin() + at + 1);
    std::copy(ranks.begin() + at + 1, ranks.begin() + count - 1, ranks.begin() + at);
    std::copy(results.begin() + at + 1, results.begin() + count - 1, results.begin() + at);
    --count;
    if (at > 0) rate(at - 1);
    if (at + 1 < count) rate(at);
  }
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + count);
}

namespace {

// A heap's front is its largest: the best candidate is the one of the smallest rank, then the
// leftmost.
constexpr auto kWorse = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
};

}  // namespace

void Bpe::Enqueue(std::int32_t left, BpeScratch& scratch) const {
  const auto& symbols = scratch.symbols_;
  const auto& symbol = symbols[static_cast<std::size_t>(left)];
  if (symbol.next == static_cast<std::int32_t>(symbols.size())) return;
  const TokenId right_id = symbols[static_cast<std::size_t>(symbol.next)].id;
  const Merge* merge = FindMerge(symbol.id, right_id);
  if (merge == nullptr) return;
  ++scratch.steps_;
  scratch.queue_.push_back({merge->rank, left, symbol.id, right_id});
}

void Bpe::MergeByQueue(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols_;
  auto& queue = scratch.queue_;
  symbols.clear();
  queue.clear();
  for (const char c : run) {
    const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
    const auto index = static_cast<std::int32_t>(symbols.size());
    if (id != kNoToken) symbols.push_back({id, index - 1, index + 1});
  }
  scratch.steps_ += static_cast<std::int64_t>(run.size());
  const auto end = static_cast<std::int32_t>(symbols.size());
  for (std::int32_t i = 0; i < end; ++i) Enqueue(i, scratch);
  std::make_heap(queue.begin(), queue.end(), kWorse);

  // Every merge removes a symbol and queues at most two candidates, so the queue sees fewer than
  // three per symbol.
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), kWorse);
    const BpeScratch::Candidate best = queue.back();
    queue.pop_back();
    auto& left = symbols[static_cast<std::size_t>(best.left)];
    if (left.id != best.left_id || left.next == end) continue;
    auto& right = symbols[static_cast<std::size_t>(left.next)];
    if (right.id != best.right_id) continue;
    left.id = FindMerge(best.left_id, best.right_id)->id;
    right.id = kMergedAway;
    left.next = right.next;
    if (left.next != end) symbols[static_cast<std::size_t>(left.next)].previous = best.left;
    for (const std::int32_t changed : {left.previous, best.left}) {
      if (changed < 0) continue;
      const std::size_t before = queue.size();
      Enqueue(changed, scratch);
      if (queue.size() > before) std::push_heap(queue.begin(), queue.end(), kWorse);
    }
  }
  for (const auto& symbol : symbols) {
    if (symbol.id != kMergedAway) ids.push_back(symbol.id);
  }
}

}  // namespace banyan::text
