#include "tests/sim/workload.h"

#include <algorithm>
#include <utility>

namespace banyan::sim {
namespace {

constexpr int kConversations = 4;
constexpr std::size_t kPaths = 30;

void Extend(std::vector<TokenId>& head, const std::vector<TokenId>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
}

}  // namespace

Workload::Workload(const Scenario& scenario, Random& random)
    : scenario_(scenario), random_(random) {
  for (int i = 0; i < scenario.system_prompts; ++i) {
    systems_.push_back(Tokens(random.Between(1, scenario.system_length)));
  }
  conversations_.resize(kConversations);
  for (Conversation& conversation : conversations_) {
    conversation.realm = AnyRealm();
    conversation.said = random.Pick(systems_);
  }
}

// "", "1", "11", ..., each with the salts "", "1", "11", ...: joined without care, they are alike.
std::string Workload::TenantOf(Realm realm, int salts) {
  return std::string(static_cast<std::size_t>(realm / salts), '1');
}

std::string Workload::SaltOf(Realm realm, int salts) {
  return std::string(static_cast<std::size_t>(realm % salts), '1');
}

std::vector<std::vector<Wish>> Workload::Arrivals(int tick, int live) {
  std::vector<std::vector<Wish>> arrivals;
  if (done()) return arrivals;
  if (scenario_.kind == Kind::kShares) return ShareArrivals();
  if (scenario_.kind == Kind::kPulse) return PulseArrivals(tick, live);
  int count = 0;
  if (random_.OneIn(scenario_.arrivals_one_in)) count = random_.Between(1, scenario_.most_at_once);
  if (scenario_.burst_one_in > 0 && random_.OneIn(scenario_.burst_one_in)) {
    count += random_.Between(4, 12);
  }
  for (; count > 0 && !done(); --count) {
    arrivals.push_back(Some());
    made_ += static_cast<int>(arrivals.back().size());
  }
  return arrivals;
}

// A tenant's prompts are the longer the higher its number.
std::vector<std::vector<Wish>> Workload::ShareArrivals() {
  std::vector<std::vector<Wish>> arrivals;
  for (; !done(); ++made_) {
    const Realm tenant = made_ % scenario_.tenants;
    std::vector<TokenId> prompt = random_.Pick(systems_);
    for (Realm i = 0; i <= tenant; ++i) Extend(prompt, Own());
    std::vector<Wish>& one = arrivals.emplace_back();
    one.push_back(Plain(tenant, std::move(prompt)));
    one[0].request.score_prompt = false;
    one[0].request.max_tokens = random_.Between(0, scenario_.output);
  }
  return arrivals;
}

std::vector<std::vector<Wish>> Workload::PulseArrivals(int tick, int live) {
  if (tick > kPulseEnd) made_ = scenario_.requests;
  int count = scenario_.steady - live;
  if (tick > kPulseTick && !std::exchange(pulsed_, true)) {
    count = scenario_.steady * kPulseRequests;
  }
  std::vector<std::vector<Wish>> arrivals;
  for (; count > 0 && !done(); --count, ++made_) {
    std::vector<Wish>& one = arrivals.emplace_back();
    one.emplace_back().request.prompt = Tokens(scenario_.own_length);
    one[0].request.max_tokens = scenario_.output;
  }
  return arrivals;
}

std::vector<Wish> Workload::Some() {
  const Kinds& kinds = scenario_.kinds;
  std::vector<Wish> one;
  const auto idle = [](const Conversation& c) { return !c.waits; };
  const bool may_talk = std::any_of(conversations_.begin(), conversations_.end(), idle);
  const int weights[] = {kinds.hot,
                         may_talk ? kinds.conversations : 0,
                         paths_.empty() ? 0 : kinds.forks,
                         paths_.empty() ? 0 : kinds.repeats,
                         kinds.floods,
                         kinds.giants,
                         kinds.strangers};
  int sum = 0;
  for (const int weight : weights) sum += weight;
  int at = random_.Below(sum);
  int kind = 0;
  while (at >= weights[kind]) at -= weights[kind++];
  switch (kind) {
    case 0:
      one.push_back(Hot());
      break;
    case 1:
      one.push_back(NextTurn());
      break;
    case 2:
      one.push_back(Fork());
      break;
    case 3: {
      const Path& path = random_.Pick(paths_);
      one.push_back(Plain(path.realm, path.tokens));
      break;
    }
    case 4:
      return Flood();
    case 5:
      one.push_back(Giant());
      break;
    default:
      one.push_back(Plain(AnyRealm(), Tokens(random_.Between(1, 2 * scenario_.own_length))));
  }
  return one;
}

Wish Workload::Hot() {
  std::vector<TokenId> prompt =
      systems_[static_cast<std::size_t>(random_.Skewed(static_cast<int>(systems_.size())))];
  Extend(prompt, Own());
  return Plain(AnyRealm(), std::move(prompt));
}

Wish Workload::NextTurn() {
  int which = random_.Below(kConversations);
  while (conversations_[static_cast<std::size_t>(which)].waits)
    which = (which + 1) % kConversations;
  Conversation& conversation = conversations_[static_cast<std::size_t>(which)];
  std::vector<TokenId> prompt = conversation.said;
  Extend(prompt, Own());
  conversation.waits = true;
  Wish wish = Plain(conversation.realm, std::move(prompt));
  wish.conversation = which;
  return wish;
}

Wish Workload::Fork() {
  const Path& path = random_.Pick(paths_);
  std::vector<TokenId> prompt = path.tokens;
  prompt.resize(static_cast<std::size_t>(random_.Below(static_cast<int>(prompt.size()) + 1)));
  Extend(prompt, Own());
  return Plain(path.realm, std::move(prompt));
}

Wish Workload::Giant() {
  const auto pool = std::int64_t{scenario_.cache.page_size} * scenario_.cache.pages;
  const auto largest =
      static_cast<int>(std::min({pool, scenario_.scheduler.context_length, std::int64_t{600}}));
  // Sometimes one that can never run.
  const int length = std::max(1, largest + 1 - random_.Below(1 + largest / 3));
  std::vector<TokenId> prompt = random_.OneIn(2) ? systems_[0] : std::vector<TokenId>();
  Extend(prompt, Tokens(length));
  prompt.resize(static_cast<std::size_t>(length));
  return Plain(AnyRealm(), std::move(prompt));
}

// Alike, or alike up to some place; sometimes one begins with another whole.
std::vector<Wish> Workload::Flood() {
  const Realm realm = AnyRealm();
  std::vector<TokenId> common = random_.Pick(systems_);
  Extend(common, Own());
  const bool identical = random_.OneIn(2);
  const int count = random_.Between(2, std::min(9, static_cast<int>(scenario_.max_queue)));
  const std::int32_t priority = random_.Below(scenario_.priorities);
  std::vector<Wish> flood;
  for (int i = 0; i < count; ++i) {
    std::vector<TokenId> prompt = common;
    if (!identical) {
      prompt.resize(prompt.size() -
                    static_cast<std::size_t>(random_.Below(static_cast<int>(prompt.size()))));
      if (!random_.OneIn(4)) Extend(prompt, Own());
    }
    flood.push_back(Plain(realm, std::move(prompt)));
    if (identical) flood.back().request.priority = priority;
  }
  return flood;
}

Wish Workload::Plain(Realm realm, std::vector<TokenId> prompt) {
  if (prompt.empty()) prompt = Tokens(1);
  Wish wish;
  wish.realm = realm;
  wish.request.tenant = TenantOf(realm, scenario_.salts);
  wish.request.cache_salt = SaltOf(realm, scenario_.salts);
  wish.request.prompt = std::move(prompt);
  Decorate(wish.request);
  if (scenario_.policy_one_in > 0 && random_.OneIn(scenario_.policy_one_in)) {
    SetPolicy(wish.request);
  }
  if (scenario_.faults.slow_one_in > 0 && random_.OneIn(scenario_.faults.slow_one_in)) {
    wish.reads_one_in = random_.Between(2, 12);
    wish.capacity = static_cast<std::size_t>(random_.Between(1, 6));
  }
  return wish;
}

void Workload::Decorate(scheduler::Request& request) {
  request.priority = random_.Below(scenario_.priorities);
  request.max_tokens = random_.Between(1, scenario_.output);
  if (random_.OneIn(10)) request.max_tokens = 0;
  if (random_.OneIn(10)) {  // about what the context leaves
    request.max_tokens = std::clamp<std::int64_t>(
        scenario_.scheduler.context_length - static_cast<std::int64_t>(request.prompt.size()) +
            random_.Between(-1, 1),
        0, 100);
  }
  if (!scenario_.ample && scenario_.system_length < 1000 && random_.OneIn(12)) {
    request.max_tokens = 10'000;
  }
  if (random_.OneIn(3)) {
    for (int i = random_.Between(1, 6); i > 0; --i) {
      const TokenId token = random_.Below(kVocabulary);
      const auto found = std::find(request.end_tokens.begin(), request.end_tokens.end(), token);
      if (found == request.end_tokens.end()) request.end_tokens.push_back(token);
    }
    if (random_.OneIn(2)) request.min_tokens = random_.Between(1, 8);
  }
  request.score_prompt = random_.OneIn(scenario_.ample ? 10 : 5);
  if (random_.OneIn(6)) request.top_logprobs = random_.Between(1, kMaxTopLogprobs);
  if (random_.OneIn(6)) request.logit_bias = {{random_.Below(kVocabulary), 2.0F}};
  if (random_.OneIn(5)) request.sampling.repetition_penalty = 1.25F;
  request.sampling.seed = static_cast<std::uint64_t>(random_.OneIn(3) ? random_.Below(3) : 0);
}

// Sometimes one that cannot be; and sometimes more than context or pool could take.
void Workload::SetPolicy(scheduler::Request& request) {
  const bool tells_slots = scenario_.cache.sharing == radix::Sharing::kSlots;
  request.kv_policy = tells_slots && random_.OneIn(2) ? AnyBudget() : AnyWindow();
  request.score_prompt = false;
  request.max_tokens = std::min<std::int64_t>(request.max_tokens, 150);
  if (!scenario_.ample && random_.OneIn(4)) Extend(request.prompt, Tokens(random_.Between(1, 200)));
}

scheduler::KvPolicy Workload::AnyWindow() {
  const int sinks = random_.Below(7);
  return {.sinks = sinks,
          .window = random_.OneIn(20) ? random_.Below(3) : sinks + random_.Between(1, 24)};
}

scheduler::KvPolicy Workload::AnyBudget() {
  using Type = scheduler::KvPolicy::Type;
  constexpr Type kTypes[] = {Type::kH2o, Type::kScissorhands, Type::kSnapKv, Type::kQuest};
  scheduler::KvPolicy policy{.type = kTypes[random_.Below(4)]};
  if (policy.type == Type::kQuest) {
    const std::int32_t page_size = scenario_.cache.page_size;
    policy.budget = random_.OneIn(20) ? page_size - 1 : page_size * random_.Between(1, 5);
    return policy;
  }
  policy.budget = random_.OneIn(20) ? random_.Below(2) : random_.Between(1, 24);
  const int recent = random_.Below(static_cast<int>(policy.budget) + 1);
  policy.recent = random_.OneIn(20) ? recent + 1 : random_.OneIn(2) ? recent : 0;
  policy.observe = random_.OneIn(4) ? random_.Between(1, 80) : random_.Between(1, 8);
  policy.history = random_.Between(1, 64);
  policy.pooled = random_.OneIn(20) ? 4 : 2 * random_.Below(4) + 1;
  return policy;
}

void Workload::SetConversation(RequestId request, int conversation) {
  if (conversation >= 0) conversations_[static_cast<std::size_t>(conversation)].asked = request;
}

void Workload::OnEnd(const Client& client, std::vector<TokenId> prompt_and_answer) {
  for (Conversation& conversation : conversations_) {
    if (!conversation.waits || conversation.asked != client.id) continue;
    conversation.waits = false;
    conversation.said = prompt_and_answer;
    // Before it fits nowhere, it begins anew.
    const int longest = scenario_.system_length + 5 * (scenario_.own_length + scenario_.output);
    if (!client.fits || static_cast<int>(conversation.said.size()) > longest) {
      conversation.said = random_.Pick(systems_);
    }
  }
  if (!client.fits) return;
  if (paths_.size() == kPaths) paths_.erase(paths_.begin());
  paths_.push_back({client.realm, std::move(prompt_and_answer)});
}

Realm Workload::AnyRealm() {
  return random_.Skewed(scenario_.tenants) * scenario_.salts + random_.Skewed(scenario_.salts);
}

std::vector<TokenId> Workload::Tokens(int length) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < length; ++i) tokens.push_back(random_.Below(scenario_.alphabet));
  return tokens;
}

std::vector<TokenId> Workload::Own() { return Tokens(random_.Between(1, scenario_.own_length)); }

}  // namespace banyan::sim
