#include "tests/sim/oracle.h"

#include <algorithm>
#include <span>
#include <utility>

namespace banyan::sim {
namespace {

using scheduler::FinishReason;
using scheduler::Request;

class Reader {
 public:
  Reader(Realm realm, kernels::KeyWindow window, const std::optional<Keeping>& keeping,
         Oracle& oracle)
      : realm_(realm), window_(window), keeping_(keeping), oracle_(oracle) {}

  void Read(TokenId token) {
    const auto position = static_cast<std::int64_t>(oracle_.path.size());
    if (keeping_ && keeping_->IsDue(position, Count())) Compact(position);
    const std::int64_t at = Count();
    const auto slot_at = [this](std::int64_t i) { return slots_[static_cast<std::size_t>(i)]; };
    const bool chooses = keeping_ && position >= keeping_->prompt;
    const Slot slot = NextSlot(slot_at, realm_, token, position, window_, position - at,
                               chooses ? keeping_->choice : kernels::PageChoice{});
    oracle_.tokens.push_back(token);
    oracle_.path.push_back(slot);
    slots_.push_back(slot);
    const bool sees_all = !window_.cuts(position) && at == position;
    sum_ = sees_all ? Attend(sum_, slot) : AttendAll(slot_at, at, at, window_);
    if (!keeping_ || position < keeping_->first_observed) return;
    if (position == keeping_->first_observed) notes_.Begin(keeping_->by, at);
    if (keeping_->IsObserved(position)) notes_.Add(slot_at);
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::int64_t Count() const { return static_cast<std::int64_t>(slots_.size()); }
  void Compact(std::int64_t position) {
    std::vector<Slot> slots;
    Oracle::Survivors& survivors = oracle_.survivors.emplace_back();
    survivors.tokens = position;
    for (const std::int64_t slot : notes_.Keep(keeping_->rule)) {
      slots.push_back(slots_[static_cast<std::size_t>(slot)]);
      survivors.positions.push_back(slots.back().position);
    }
    slots_ = std::move(slots);
  }

  const Realm realm_;
  const kernels::KeyWindow window_;
  const std::optional<Keeping> keeping_;
  Oracle& oracle_;
  std::vector<Slot> slots_;  // that there are
  Notes notes_;
  std::uint64_t sum_ = 0;
};

bool Ends(const Request& request, TokenId token) {
  return std::find(request.end_tokens.begin(), request.end_tokens.end(), token) !=
         request.end_tokens.end();
}

}  // namespace

const Oracle::Survivors* Oracle::Latest(std::int64_t number) const {
  const auto later = std::find_if(survivors.begin(), survivors.end(),
                                  [&](const Survivors& of) { return of.tokens > number; });
  return later == survivors.begin() ? nullptr : &*(later - 1);
}

std::vector<Slot> Oracle::SlotsBefore(std::int64_t number) const {
  std::vector<Slot> slots;
  const Survivors* latest = Latest(number);
  if (latest != nullptr) {
    for (const std::int64_t position : latest->positions)
      slots.push_back(path[static_cast<std::size_t>(position)]);
  }
  const auto first = path.begin() + (latest == nullptr ? 0 : latest->tokens);
  slots.insert(slots.end(), first, path.begin() + number);
  return slots;
}

std::int64_t Oracle::CountBefore(std::int64_t number) const {
  const Survivors* latest = Latest(number);
  if (latest == nullptr) return number;
  return static_cast<std::int64_t>(latest->positions.size()) + number - latest->tokens;
}

std::int64_t Oracle::CountAfter(std::int64_t number) const {
  return number == 0 ? 0 : CountBefore(number - 1) + 1;
}

bool Oracle::IsCompactedBefore(std::int64_t number) const {
  const Survivors* latest = Latest(number);
  return latest != nullptr && latest->tokens == number;
}

Oracle Expect(const Request& request, Realm realm, std::int64_t max_output,
              const std::optional<Keeping>& keeping) {
  Oracle oracle;
  Reader reader(realm, scheduler::WindowOf(request.kv_policy), keeping, oracle);
  for (const TokenId token : request.prompt) {
    if (request.score_prompt && !oracle.path.empty()) {
      oracle.prompt_scores.push_back(Score(reader.sum(), token, request.top_logprobs));
    }
    reader.Read(token);
  }
  oracle.reason = FinishReason::kLength;
  for (std::int64_t i = 0; i < max_output; ++i) {
    Question question{.sampling = request.sampling,
                      .prompt_tokens = static_cast<std::int64_t>(request.prompt.size()),
                      .logit_bias = request.logit_bias,
                      .top_logprobs = request.top_logprobs};
    if (request.sampling.penalizes()) question.context = oracle.tokens;
    if (i < request.min_tokens) question.forbidden = request.end_tokens;
    oracle.sampled.push_back(Draw(reader.sum(), question));
    const TokenId token = oracle.sampled.back().token;
    reader.Read(token);
    if (Ends(request, token)) {
      oracle.reason = FinishReason::kStop;
      break;
    }
  }
  return oracle;
}

}  // namespace banyan::sim
