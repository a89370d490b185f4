#include "text/bpe.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/byte_alphabet.h"
#include "text/unicode.h"

namespace banyan::text {
namespace {

absl::Status BadMerge(std::size_t rank, std::string_view merge, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("tokenizer.ggml.merges: entry ", rank, " (",
                                                 Quote(merge), ") ", std::string(why)));
}

absl::StatusOr<BpeMerge> ParseMerge(const Vocabulary& vocabulary, std::string_view merge,
                                    std::size_t rank) {
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
    const std::optional<TokenId> id = vocabulary.FindMergeable(part);
    if (!id) {
      return BadMerge(rank, merge,
                      absl::StrCat("needs ", Quote(part), ", which is not a normal token of ",
                                   "tokenizer.ggml.tokens"));
    }
    ids[filled++] = *id;
  }
  return BpeMerge{.left = ids[0], .right = ids[1], .result = ids[2]};
}

}  // namespace

absl::StatusOr<std::vector<BpeMerge>> ParseMerges(const Vocabulary& vocabulary,
                                                  std::span<const std::string_view> merges) {
  if (merges.size() > kMaxMerges) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokenizer.ggml.merges: ", merges.size(), " entries, more than ", kMaxMerges));
  }
  std::vector<BpeMerge> parsed;
  parsed.reserve(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const absl::StatusOr<BpeMerge> merge = ParseMerge(vocabulary, merges[rank], rank);
    if (!merge.ok()) return merge.status();
    parsed.push_back(*merge);
  }
  return parsed;
}

Bpe::Bpe(const Vocabulary& vocabulary, std::span<const BpeMerge> merges, const Options& options)
    : alphabet_(vocabulary.alphabet()),
      unknown_(options.unknown),
      merges_(merges.size()),
      whole_runs_(static_cast<std::size_t>(vocabulary.size())) {
  FindAtoms(vocabulary);
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const BpeMerge& merge = merges[rank];
    merges_.Set(merge.left, merge.right, {static_cast<std::int32_t>(rank), merge.result});
  }
  AddWholeRuns(vocabulary, options.whole_runs);
}

void Bpe::FindAtoms(const Vocabulary& vocabulary) {
  byte_ids_.fill(kNoToken);
  ascii_ids_.fill(kNoToken);
  if (alphabet_ == Alphabet::kBytes) {
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      byte_ids_[static_cast<std::size_t>(byte)] =
          vocabulary.FindMergeable(SpellBytes({&c, 1})).value_or(kNoToken);
    }
    return;
  }
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view spelling = vocabulary.Spelling(id);
    if (vocabulary.type(id) == TokenType::kByte) {
      byte_ids_[static_cast<unsigned char>(vocabulary.Bytes(id)[0])] = id;
    } else if (vocabulary.FindMergeable(spelling) == id) {
      std::uint8_t length = 0;
      const char32_t point = DecodeUtf8(spelling, length);
      if (length != spelling.size()) continue;
      character_ids_.emplace(point, id);
      if (point < ascii_ids_.size()) ascii_ids_[point] = id;
    }
  }
}

void Bpe::AddWholeRuns(const Vocabulary& vocabulary, WholeRuns whole_runs) {
  BpeScratch scratch;
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.FindMergeable(vocabulary.Spelling(id)) != id) continue;
    const std::string_view run =
        alphabet_ == Alphabet::kBytes ? vocabulary.Bytes(id) : vocabulary.Spelling(id);
    if (whole_runs == WholeRuns::kIfMergesLeadThere) {
      ids.clear();
      MergeRun(run, ids, scratch);
      if (ids.size() != 1 || ids[0] != id) continue;
    }
    whole_runs_.Add(run, id);
  }
}

void Bpe::Encode(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const {
  if (run.size() > ShortRun::kMaxBytes) {
    const std::optional<TokenId> whole = whole_runs_.Find(run);
    if (whole) {
      ids.push_back(*whole);
    } else {
      MergeRun(run, ids, scratch);
    }
    return;
  }
  const ShortRun key = ShortRun::Of(run);
  if (const std::optional<TokenId> whole = whole_runs_.Find(key)) {
    ids.push_back(*whole);
    return;
  }
  if (scratch.known_.empty()) {  // short texts are not worth its memory
    MergeRun(run, ids, scratch);
    if (++scratch.merged_ == kRunsUntilKnown) scratch.known_.resize(kKnownRuns);
    return;
  }
  auto& known = scratch.known_[key.Hash() % kKnownRuns];
  if (known.run == key) {
    ids.insert(ids.end(), known.ids.begin(), known.ids.begin() + known.count);
    return;
  }
  const std::size_t before = ids.size();
  MergeRun(run, ids, scratch);
  const std::size_t count = ids.size() - before;
  if (count > BpeScratch::Known::kMaxIds) return;
  known.run = key;
  known.count = static_cast<std::int32_t>(count);
  std::copy(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end(), known.ids.begin());
}

void Bpe::AppendAtoms(std::string_view run, std::vector<TokenId>& ids) const {
  if (alphabet_ == Alphabet::kBytes) {
    for (const char c : run) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(c)];
      if (id != kNoToken) ids.push_back(id);
    }
    return;
  }
  for (std::size_t at = 0; at < run.size();) {
    const auto first = static_cast<unsigned char>(run[at]);
    std::uint8_t length = 1;
    TokenId id = kNoToken;
    if (first < 0x80) {
      id = ascii_ids_[first];
    } else {
      const auto entry = character_ids_.find(DecodeUtf8(run.substr(at), length));
      if (entry != character_ids_.end()) id = entry->second;
    }
    if (id != kNoToken) {
      ids.push_back(id);
    } else {
      AppendCharacter(run.substr(at, length), ids);
    }
    at += length;
  }
}

// One that has no token: its bytes, or nothing known.
void Bpe::AppendCharacter(std::string_view character, std::vector<TokenId>& ids) const {
  const auto byte_id = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  const bool has_bytes =
      std::ranges::all_of(character, [&](char c) { return byte_id(c) != kNoToken; });
  if (has_bytes) {
    for (const char c : character) ids.push_back(byte_id(c));
  } else if (unknown_ && (ids.empty() || ids.back() != *unknown_)) {
    ids.push_back(*unknown_);
  }
}

void Bpe::MergeRun(std::string_view run, std::vector<TokenId>& ids, BpeScratch& scratch) const {
  auto& first = scratch.first_;
  first.clear();
  AppendAtoms(run, first);
  scratch.steps_ += static_cast<std::int64_t>(run.size());
  if (merges_.empty()) {
    ids.insert(ids.end(), first.begin(), first.end());
  } else if (first.size() <= kScanLimit) {
    MergeByScan(ids, scratch);
  } else {
    MergeByQueue(ids, scratch);
  }
}

void Bpe::MergeByScan(std::vector<TokenId>& ids, BpeScratch& scratch) const {
  // Symbol i is tokens[i]; pair i is (i, i + 1), of rank ranks[i] and result results[i].
  std::array<TokenId, kScanLimit> tokens;
  std::array<TokenId, kScanLimit> results;
  std::array<std::int32_t, kScanLimit> ranks;
  std::size_t count = scratch.first_.size();
  std::copy(scratch.first_.begin(), scratch.first_.end(), tokens.begin());
  const auto rate = [&](std::size_t i) {
    const PairTable::Merge* merge = merges_.Find(tokens[i], tokens[i + 1]);
    ranks[i] = merge == nullptr ? kNoRank : merge->rank;
    results[i] = merge == nullptr ? kNoToken : merge->id;
  };
  for (std::size_t i = 0; i + 1 < count; ++i) rate(i);
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
  const PairTable::Merge* merge = merges_.Find(symbol.id, right_id);
  if (merge == nullptr) return;
  ++scratch.steps_;
  scratch.queue_.push_back({merge->rank, left, symbol.id, right_id});
}

void Bpe::MergeByQueue(std::vector<TokenId>& ids, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols_;
  auto& queue = scratch.queue_;
  symbols.clear();
  queue.clear();
  for (const TokenId id : scratch.first_) {
    const auto index = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({id, index - 1, index + 1});
  }
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
    left.id = merges_.Find(best.left_id, best.right_id)->id;
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
