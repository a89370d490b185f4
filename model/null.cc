// `--model null`: pages of 8-byte slots, each a hash of the path up to its token.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/limits.h"
#include "model/kv_pool.h"
#include "model/model.h"
#include "model/put_aside.h"
#include "model/step.h"

namespace banyan::model {
namespace {

constexpr std::int64_t kContextLength = 1 << 20;
constexpr TokenId kFirstToken = 32;  // ' '
constexpr TokenId kTokens = 95;      // up to '~'
constexpr std::uint64_t kRoot = 0x9E3779B97F4A7C15;
// The logit, and the log-probability, of every token but the next one: as good as none, and still a
// number. That of the next one is 0.
constexpr float kUnlikely = -9999.0F;

// The finalizer of splitmix64: every input bit reaches every output bit.
// Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

struct Free {
  void operator()(std::uint64_t* memory) const { std::free(memory); }
};

class NullModel final : public Model {
 public:
  NullModel(const Options& options, TokenId end_token, std::int32_t vocabulary_size)
      : page_size_(options.page_size),
        pages_(PagesThatFit(options.kv_memory, options.page_size * std::int64_t{kSlotBytes})),
        end_token_(end_token),
        limits_{.max_rows = options.max_batch_tokens,
                .vocabulary_size = vocabulary_size,
                .page_size = page_size_,
                .pages = pages_,
                .windows = true,
                .compacts = true},
        slots_(static_cast<std::uint64_t*>(
            std::calloc(static_cast<std::size_t>(pages_), page_bytes()))) {
    if (slots_ == nullptr) throw std::bad_alloc();
    facts_.name = "null";
    facts_.architecture = "null";
    facts_.vocabulary_size = vocabulary_size;
    facts_.context_length = kContextLength;
    facts_.kv_bytes_per_token = kSlotBytes;
    facts_.every_layer_sees_all = true;
    facts_.compacts = true;
  }

  const Facts& facts() const override { return facts_; }
  std::int32_t pages() const override { return pages_; }

  absl::Status Forward(const Batch& batch, StepResult& result) override {
    step_.Lay(batch, limits_);
    result.step = batch.step;
    result.failed = false;
    result.sequences.assign(batch.sequences.size(), SequenceResult{});
    aside_.Move(batch, *this);
    for (const kernels::SlotCopy& copy : step_.copies()) {
      std::copy_n(Slot(copy.from, 0), copy.slots, Slot(copy.to, 0));
    }
    for (const kernels::KvCompaction& compaction : step_.compactions()) Compact(compaction);
    for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
      const absl::Status status = Run(batch.sequences[i], result.sequences[i]);
      if (!status.ok()) {
        result.failed = true;
        result.sequences.assign(batch.sequences.size(), SequenceResult{});
        return status;
      }
    }
    return absl::OkStatus();
  }

  std::size_t page_bytes() const override {
    return kSlotBytes * static_cast<std::size_t>(page_size_);
  }
  void ReadPage(PageId page, std::span<std::byte> bytes) const override {
    CHECK(0 <= page && page < pages_ && bytes.size() == page_bytes());
    std::memcpy(bytes.data(), Slot(page, 0), bytes.size());
  }
  void WritePage(PageId page, std::span<const std::byte> bytes) override {
    CHECK(0 <= page && page < pages_ && bytes.size() == page_bytes());
    std::memcpy(Slot(page, 0), bytes.data(), bytes.size());
  }

 private:
  static constexpr std::size_t kSlotBytes = sizeof(std::uint64_t);

  std::uint64_t* Slot(PageId page, std::int64_t slot) const {
    return slots_.get() + std::int64_t{page} * page_size_ + slot;
  }

  absl::Status Run(const Sequence& sequence, SequenceResult& result) {
    const std::size_t count = sequence.tokens.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t slot = sequence.first_slot() + static_cast<std::int64_t>(i);
      // Read back even where it was just computed: what counts is what the page table names.
      const std::uint64_t before = slot == 0 ? kRoot : *SlotAt(sequence, slot - 1);
      const std::uint64_t hash = Mix(before + static_cast<std::uint64_t>(sequence.tokens[i]) + 1);
      *SlotAt(sequence, slot) = hash;
      const TokenId next = NextToken(hash);
      if (sequence.logits == Logits::kReturnAll) AppendLogits(next, result.logits);
      if (i < sequence.scored.size()) {
        const TokenId token = sequence.scored[i];
        result.scores.push_back({token, next == token ? 0 : kUnlikely, Top(next, sequence)});
      }
      if (i + 1 < count || sequence.logits == Logits::kNone) continue;
      result.token = FirstAllowed(next, sequence);
      if (result.token < 0) {
        return absl::InvalidArgumentError("no token may follow: all are masked or forbidden");
      }
      result.log_probability = result.token == next ? 0 : kUnlikely;
      result.top = Top(next, sequence);
    }
    return absl::OkStatus();
  }

  std::uint64_t* SlotAt(const Sequence& sequence, std::int64_t slot) {
    const PageId page = sequence.pages[sequence.gap.place(slot / page_size_)];
    return Slot(page, slot % page_size_);
  }

  // The last slots survive, in order: who goes on reads the last one.
  void Compact(const kernels::KvCompaction& compaction) {
    const auto at = [&](std::span<const PageId> table, std::int64_t slot) {
      return Slot(table[static_cast<std::size_t>(slot / page_size_)], slot % page_size_);
    };
    const std::int64_t kept = compaction.keep.kept(compaction.slots);
    for (std::int64_t i = 0; i < kept; ++i)
      *at(compaction.to, i) = *at(compaction.from, compaction.slots - kept + i);
  }

  // The token that follows a path.
  TokenId NextToken(std::uint64_t hash) const {
    const std::uint64_t random = Mix(hash + kRoot);
    if (random % 256 == 0) return end_token_;
    return kFirstToken + static_cast<TokenId>((random >> 8) % kTokens);
  }

  // The first token from `token` on, and then from 0, that the sequence allows; -1 if there is
  // none.
  TokenId FirstAllowed(TokenId token, const Sequence& sequence) const {
    const auto size = static_cast<std::size_t>(facts_.vocabulary_size);
    const std::span<const std::uint64_t> mask = sequence.token_mask;
    const std::span<const TokenId> forbidden = sequence.forbidden;
    CHECK(mask.empty() || mask.size() == (size + 63) / 64);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t id = (static_cast<std::size_t>(token) + i) % size;
      if (!mask.empty() && (mask[id / 64] >> (id % 64) & 1) == 0) continue;
      const auto candidate = static_cast<TokenId>(id);
      if (std::find(forbidden.begin(), forbidden.end(), candidate) == forbidden.end()) {
        return candidate;
      }
    }
    return -1;
  }

  // The most probable tokens where `next` follows: it, and then all others are equals.
  std::vector<TokenLogprob> Top(TokenId next, const Sequence& sequence) const {
    std::vector<TokenLogprob> top;
    const auto count =
        static_cast<std::size_t>(std::min(sequence.top_logprobs, facts_.vocabulary_size));
    if (count > 0) top.push_back({next, 0});
    for (TokenId token = 0; top.size() < count; ++token) {
      if (token != next) top.push_back({token, kUnlikely});
    }
    return top;
  }

  // All of the probability is the token's.
  void AppendLogits(TokenId token, std::vector<float>& logits) const {
    const std::size_t first = logits.size();
    logits.resize(first + static_cast<std::size_t>(facts_.vocabulary_size), kUnlikely);
    logits[first + static_cast<std::size_t>(token)] = 0;
  }

  const std::int32_t page_size_;
  const std::int32_t pages_;
  const TokenId end_token_;
  const StepLimits limits_;
  Facts facts_;
  Step step_;
  PutAside aside_;
  // [pages, page_size]; resident only where it was written.
  std::unique_ptr<std::uint64_t[], Free> slots_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> Model::Null(const Options& options, TokenId end_token,
                                                   std::int32_t vocabulary_size) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  if (vocabulary_size < kFirstToken + kTokens || end_token < 0 || end_token >= vocabulary_size) {
    return absl::InvalidArgumentError(absl::StrCat("the null model needs a vocabulary of at least ",
                                                   kFirstToken + kTokens,
                                                   " tokens with the end token among them"));
  }
  try {
    return std::make_unique<NullModel>(options, end_token, vocabulary_size);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the page pool does not fit into memory");
  }
}

}  // namespace banyan::model
