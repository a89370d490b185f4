// Random operations on a prefix cache and on the naive model of it (model.h), which must agree.
#include <cstdint>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/radix/model.h"

namespace banyan::radix {
namespace {

struct Case {
  std::int32_t page_size;
  std::int32_t pages;
  int namespaces;
  TokenId alphabet;
  std::size_t longest;  // tokens in a prompt
  int seeds;
  Eviction eviction =
      Eviction::kLru;  // others with one namespace: which ends first is not modelled
  Sharing sharing = Sharing::kSlots;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return "page" + std::to_string(info.param.page_size) + "_pool" +
         std::to_string(info.param.pages) + "_alphabet" + std::to_string(info.param.alphabet) +
         "_" + std::string(Name(info.param.eviction)) +
         (info.param.sharing == Sharing::kPages ? "_whole" : "");
}

class RandomOperations : public testing::TestWithParam<Case> {
 protected:
  int Below(std::size_t n) { return static_cast<int>(random_() % n); }
  Tokens RandomTokens(std::size_t count) {
    Tokens tokens(count);
    for (TokenId& token : tokens) token = Below(static_cast<std::size_t>(GetParam().alphabet));
    return tokens;
  }
  // Often a string seen before, cut and continued, so that matches end anywhere.
  Tokens Prompt() {
    Tokens prompt;
    if (!seen_.empty() && Below(4) != 0) {
      const Tokens& old = seen_[static_cast<std::size_t>(Below(seen_.size()))];
      prompt.assign(old.begin(), old.begin() + Below(old.size() + 1));
    }
    if (prompt.size() < GetParam().longest) {
      const Tokens rest =
          RandomTokens(static_cast<std::size_t>(Below(GetParam().longest - prompt.size() + 1)));
      prompt.insert(prompt.end(), rest.begin(), rest.end());
    }
    return prompt;
  }
  void See(const Tokens& tokens) {
    if (tokens.empty()) return;
    if (seen_.size() < 16) {
      seen_.push_back(tokens);
    } else {
      seen_[static_cast<std::size_t>(Below(seen_.size()))] = tokens;
    }
  }

  void Step(ModelledCache& model) {
    if (Below(8) == 0) return StepWatch(model);
    const int kind = Below(100);
    if (model.works().empty() || (kind < 25 && model.works().size() < 6)) {
      const Tokens prompt = Prompt();
      const std::int64_t limit =
          Below(3) == 0 ? Below(prompt.size() + 2) : static_cast<std::int64_t>(prompt.size());
      model.Open(static_cast<std::size_t>(Below(static_cast<std::size_t>(GetParam().namespaces))),
                 prompt, limit);
      return;
    }
    const auto index = static_cast<std::size_t>(Below(model.works().size()));
    ModelledCache::Work& work = model.works()[index];
    if (work.is_private && Below(3) == 0) return Drop(model, work);
    if (kind < 45) {
      model.Grow(work, Below(5));
    } else if (kind < 55) {
      model.MakeCopy(work);
    } else if (kind < 80) {
      const bool waits =
          work.view.page_table().size() == static_cast<std::size_t>(work.view.leased_pages());
      if (waits && !model.Grow(work, 1)) return;
      model.MakeCopy(work);
      const std::size_t room = model.Room(work);
      const bool exact = Below(10) != 0;
      model.Append(work, Continuation(work, static_cast<std::size_t>(Below(room + 1))),
                   exact ? PrefixCache::Exactness::kExact : PrefixCache::Exactness::kInexact);
    } else if (kind < 99) {
      See(work.tokens);
      model.Close(index, Below(3) == 0 ? PrefixCache::Tail::kDiscard : PrefixCache::Tail::kAdopt);
    } else {
      model.Flush(work.name_space);
    }
  }

  void Drop(ModelledCache& model, ModelledCache::Work& work) {
    const std::size_t full = work.tokens.size() / static_cast<std::size_t>(GetParam().page_size);
    const std::int64_t front =
        work.gap.dropped > 0 ? work.gap.front : Below(std::min<std::size_t>(full, 4) + 1);
    model.Drop(work, front, front + Below(full - static_cast<std::size_t>(front) + 1));
  }

  void StepWatch(ModelledCache& model) {
    if (model.watches() == 24 || (model.watches() > 0 && Below(4) == 0)) {
      model.StopWatch(static_cast<std::size_t>(Below(model.watches())));
    } else {
      model.StartWatch(
          static_cast<std::size_t>(Below(static_cast<std::size_t>(GetParam().namespaces))),
          Prompt());
    }
  }

  // What a view appends is often what another one appended after the same beginning.
  Tokens Continuation(const ModelledCache::Work& work, std::size_t count) {
    const std::size_t from = work.tokens.size();
    for (const Tokens& old : seen_) {
      if (old.size() > from && std::equal(work.tokens.begin(), work.tokens.end(), old.begin())) {
        Tokens tokens(old.begin() + static_cast<std::ptrdiff_t>(from), old.end());
        if (tokens.size() > count) tokens.resize(count);
        return tokens;
      }
    }
    return RandomTokens(count);
  }

  std::mt19937_64 random_;
  std::vector<Tokens> seen_;
};

TEST_P(RandomOperations, AgreeWithTheModel) {
  const Case& c = GetParam();
  for (int seed = 1; seed <= c.seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(static_cast<std::uint64_t>(seed));
    seen_.clear();
    ModelledCache model({.page_size = c.page_size,
                         .pages = c.pages,
                         .max_empty_namespaces = 2,
                         .eviction = c.eviction,
                         .sharing = c.sharing},
                        c.namespaces);
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      Step(model);
      model.CheckAll();
      model.CheckMatch(0, Prompt());
      if (HasFailure()) return;
    }
    while (!model.works().empty()) model.Close(0, PrefixCache::Tail::kAdopt);
    model.CheckAll();
    const Stats stats = model.cache().stats();
    EXPECT_EQ(stats.pages[static_cast<int>(PageState::kFree)] +
                  stats.pages[static_cast<int>(PageState::kTree)],
              c.pages)
        << "pages are left over when nothing runs";
    EXPECT_EQ(model.cache().available_pages(), c.pages);
  }
}

// Page size, pool, namespaces, alphabet, longest prompt, seeds. The pools of hundreds never evict
// in one run.
INSTANTIATE_TEST_SUITE_P(
    Radix, RandomOperations,
    testing::Values(Case{1, 8, 2, 2, 10, 30}, Case{2, 6, 1, 2, 12, 30}, Case{2, 600, 2, 2, 14, 20},
                    Case{3, 12, 2, 2, 20, 30}, Case{3, 600, 1, 3, 20, 20},
                    Case{4, 24, 3, 2, 40, 30}, Case{2, 6, 1, 2, 12, 10, Eviction::kFifo},
                    Case{3, 12, 1, 2, 20, 10, Eviction::kLfu},
                    Case{3, 12, 1, 2, 20, 20, Eviction::kReuse}, Case{16, 30, 2, 2, 150, 20},
                    Case{16, 900, 2, 2, 150, 10},
                    Case{1, 8, 2, 2, 10, 10, Eviction::kLru, Sharing::kPages},
                    Case{2, 6, 1, 2, 12, 20, Eviction::kLru, Sharing::kPages},
                    Case{3, 12, 2, 2, 20, 20, Eviction::kLru, Sharing::kPages},
                    Case{4, 24, 3, 2, 40, 20, Eviction::kLru, Sharing::kPages},
                    Case{3, 12, 1, 2, 20, 10, Eviction::kReuse, Sharing::kPages},
                    // Longer than an edge may be.
                    Case{255, 200, 2, 2, 6000, 4}, Case{256, 60, 1, 2, 5000, 6}),
    CaseName);

}  // namespace
}  // namespace banyan::radix
