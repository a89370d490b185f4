#include "tests/sim/oracle.h"

#include <algorithm>
#include <span>

namespace banyan::sim {
namespace {

using scheduler::FinishReason;
using scheduler::Request;

class Reader {
 public:
  Reader(Realm realm, kernels::KeyWindow window, Oracle& oracle)
      : realm_(realm), window_(window), oracle_(oracle) {}

  void Read(TokenId token) {
    const auto position = static_cast<std::int64_t>(oracle_.path.size());
    const auto slot_at = [this](std::int64_t p) {
      return oracle_.path[static_cast<std::size_t>(p)];
    };
    const Slot slot = NextSlot(slot_at, realm_, token, position, window_);
    oracle_.tokens.push_back(token);
    oracle_.path.push_back(slot);
    sum_ = window_.cuts(position) ? AttendAll(slot_at, position, position, window_)
                                  : Attend(sum_, slot);
  }
  std::uint64_t sum() const { return sum_; }

 private:
  const Realm realm_;
  const kernels::KeyWindow window_;
  Oracle& oracle_;
  std::uint64_t sum_ = 0;
};

bool Ends(const Request& request, TokenId token) {
  return std::find(request.end_tokens.begin(), request.end_tokens.end(), token) !=
         request.end_tokens.end();
}

}  // namespace

Oracle Expect(const Request& request, Realm realm, std::int64_t max_output) {
  Oracle oracle;
  Reader reader(realm, WindowOf(request), oracle);
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
