#include "loadtest/simulate/serial.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "loadtest/simulate/pool.h"
#include "loadtest/simulate/tokens.h"

namespace banyan::loadtest {
namespace {

using radix::PrefixCache;

struct Arrival {
  Tick at{0};
  std::int64_t conversation = 0;
  std::int64_t turn = 0;
};

// Answers take no time: a turn without a time of its own comes its think time after the one before.
std::vector<Arrival> InOrder(const Workload& workload) {
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < workload.conversations.size(); ++i) {
    Tick at{0};
    const std::vector<Turn>& turns = workload.conversations[i].turns;
    for (std::size_t turn = 0; turn < turns.size(); ++turn) {
      at = std::max(at, turns[turn].at.value_or(at + turns[turn].think));
      arrivals.push_back({at, static_cast<std::int64_t>(i), static_cast<std::int64_t>(turn)});
    }
  }
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.at, a.conversation, a.turn) < std::tie(b.at, b.conversation, b.turn);
  });
  return arrivals;
}

std::vector<std::vector<std::int64_t>> Answers(const Workload& workload) {
  std::vector<std::vector<std::int64_t>> answers;
  for (const Conversation& conversation : workload.conversations) {
    std::vector<std::int64_t>& own = answers.emplace_back();
    for (const Turn& turn : conversation.turns) own.push_back(AnswerTokens(turn));
  }
  return answers;
}

std::int64_t PromptTokens(const Workload& workload, const Arrival& arrival,
                          std::span<const std::int64_t> answers) {
  const auto& turns = workload.conversations[static_cast<std::size_t>(arrival.conversation)].turns;
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i <= arrival.turn; ++i) {
    for (const Message& message : turns[static_cast<std::size_t>(i)].messages) {
      tokens += CountTokens(message, workload.block_tokens);
    }
    if (i < arrival.turn) tokens += answers[static_cast<std::size_t>(i)];
  }
  return tokens;
}

// Nothing else is leased, so that a prompt which fits into the pool finds its pages; but a copy's
// source may be one page too many, and then whole pages alone are taken from the cache.
radix::View Open(PrefixCache& cache, NamespaceId name_space, std::span<const TokenId> prompt) {
  const std::int32_t page = cache.options().page_size;
  const std::int64_t size = std::ssize(prompt);
  const auto missing = [&](const radix::View& view) {
    return static_cast<std::int32_t>(PagesFor(size, page) - std::ssize(view.page_table()));
  };
  radix::View view = cache.Open(name_space, prompt, size);
  if (cache.Grow(view, missing(view))) return view;
  const std::int64_t whole = view.leased_pages() * std::int64_t{page};
  cache.Close(view, PrefixCache::Tail::kDiscard);
  view = cache.Open(name_space, prompt, whole);
  CHECK(cache.Grow(view, missing(view)));
  return view;
}

// Tokens of `prompt` that the cache had; it has all of them afterwards.
std::int64_t Serve(PrefixCache& cache, NamespaceId name_space, std::span<const TokenId> prompt) {
  radix::View view = Open(cache, name_space, prompt);
  const std::int64_t cached = view.tokens();
  if (cache.PendingCopy(view)) cache.CopyDone(view);
  cache.Append(view, prompt.subspan(static_cast<std::size_t>(cached)));
  cache.Close(view, PrefixCache::Tail::kAdopt);
  return cached;
}

}  // namespace

SimulatedRow SimulateSerial(const Workload& workload, const SimulateOptions& options) {
  const std::vector<Arrival> arrivals = InOrder(workload);
  const std::vector<std::vector<std::int64_t>> answers = Answers(workload);
  const auto answers_of = [&](const Arrival& arrival) -> std::span<const std::int64_t> {
    return answers[static_cast<std::size_t>(arrival.conversation)];
  };
  radix::Options cache_options{.page_size = options.page_tokens, .eviction = options.eviction};
  cache_options.pages = static_cast<std::int32_t>(options.pool_pages);
  if (options.pool_pages == 0) {
    UnlimitedPool pool(options.page_tokens);
    for (const Arrival& arrival : arrivals) {
      pool.Add(PromptTokens(workload, arrival, answers_of(arrival)));
    }
    cache_options.pages = pool.pages();
  }
  PrefixCache cache(cache_options);
  const NamespaceId name_space = cache.OpenNamespace("");
  SimulatedRow row;
  for (const Arrival& arrival : arrivals) {
    ++row.requests;
    const std::vector<TokenId> prompt = Prompt(workload, arrival.conversation, arrival.turn,
                                               answers_of(arrival), workload.block_tokens);
    const std::int64_t pages = PagesFor(std::ssize(prompt), options.page_tokens);
    if (prompt.empty() || pages > cache_options.pages) {
      ++row.refused;
      continue;
    }
    cache.SetTime(arrival.at);
    const std::int64_t cached = Serve(cache, name_space, prompt);
    row.prompt_tokens += std::ssize(prompt);
    row.cached_tokens += cached - cached % std::max(workload.block_tokens, 1);
    row.most_pages = std::max(row.most_pages, pages);
  }
  row.evicted_pages = cache.stats().evicted_pages;
  return row;
}

}  // namespace banyan::loadtest
