// Every state that a tiny cache can reach within a few operations.
//
// States are explored breadth first. Those that differ only in the names of pages and nodes, or in
// the order of views, are one: a state is known by its fingerprint, and only the first way to it is
// followed further. A cache cannot be copied, so each step replays what led to its state.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/radix/model.h"
#include "tests/radix/tree_peer.h"

namespace banyan::radix {
namespace {

// All that decides what may happen from here on.
class Fingerprint {
 public:
  explicit Fingerprint(ModelledCache& model)
      : tree_(TreePeer::Of(model.cache())), nodes_(TreePeer::Nodes(tree_)) {
    for (NodeIndex node = 0; node < nodes_.end(); ++node) {
      if (nodes_[node].live) uses_.insert(nodes_[node].rank);
    }
    AddNode(tree_.OpenNamespace("tenant 0"));
    for (NodeIndex node = 0; node < nodes_.end(); ++node) {
      if (nodes_[node].live && nodes_[node].detached) AddNode(node);
    }
    std::multimap<std::string, const ModelledCache::Work*> works;
    for (const ModelledCache::Work& work : model.works()) works.emplace(OfWork(work), &work);
    for (const auto& [text, work] : works) {
      text_ += text;
      for (const PageId page : work->view.page_table()) Add(Name(page));
      const PageCopy& copy = TreePeer::Copy(work->view);
      Add(Name(copy.from));
      Add(Name(copy.to));
    }
    for (const auto& [page, source] : TreePeer::Copies(tree_)) {
      sources_.insert({Name(page), static_cast<int>(source.keeper)});
    }
    for (const auto& [page, keeper] : sources_) Add(100 * page + keeper);
  }

  const std::string& text() const { return text_; }

 private:
  void Add(std::int64_t value) { text_ += std::to_string(value) + ' '; }
  int Name(PageId page) {
    return page == kNoPage ? -1
                           : names_.emplace(page, static_cast<int>(names_.size())).first->second;
  }
  void AddNode(NamespaceId name_space) { AddNode(TreePeer::Names(tree_).Root(name_space)); }
  void AddNode(NodeIndex index) {
    const Node& node = nodes_[index];
    text_ += '(';
    for (const TokenId token : node.edge.tokens()) Add(token);
    text_ += '|';
    for (const PageId page : node.edge.pages()) Add(Name(page));
    Add(node.pins);
    Add(node.held);
    Add(node.detached);
    Add(std::distance(uses_.begin(), uses_.find(node.rank)));
    if (!node.detached) {
      node.children.ForEach([&](NodeIndex child) { AddNode(child); });
    }
    text_ += ')';
  }
  static std::string OfWork(const ModelledCache::Work& work) {
    std::string text = "view ";
    for (const TokenId token : work.tokens) text += std::to_string(token);
    for (const std::int64_t value :
         {static_cast<std::int64_t>(work.view.page_table().size()),
          std::int64_t{work.view.leased_pages()}, std::int64_t{work.shareable},
          std::int64_t{work.current}, std::int64_t{TreePeer::Copy(work.view).slots}}) {
      text += ' ' + std::to_string(value);
    }
    return text;
  }

  Tree& tree_;
  NodeTable& nodes_;
  std::set<std::uint64_t> uses_;
  std::map<PageId, int> names_;
  std::set<std::pair<int, int>> sources_;
  std::string text_;
};

// Sanitizers and checks after each operation are slow.
#ifdef NDEBUG
constexpr int kShorter = 0;
#else
constexpr int kShorter = 4;
#endif

struct Case {
  std::int32_t page_size;
  std::int32_t pages;
  std::size_t views;       // at once, at most
  int depth;               // operations
  std::size_t min_states;  // a fingerprint that sees too little would find fewer
};

class EveryState : public testing::TestWithParam<Case> {
 protected:
  enum class Kind : std::uint8_t {
    kOpen,
    kGrow,
    kCopy,
    kAppend,
    kInexact,
    kAdopt,
    kDiscard,
    kEvict,
    kFlush
  };
  struct Operation {
    Kind kind;
    std::size_t view = 0;
    Tokens tokens{};
  };
  using Path = std::vector<std::uint8_t>;  // indices of operations

  EveryState() {
    for (const Tokens& prompt : {Tokens{}, {0}, {0, 0}, {0, 1}, {0, 0, 0}}) {
      operations_.push_back({Kind::kOpen, 0, prompt});
    }
    for (std::size_t view = 0; view < GetParam().views; ++view) {
      for (const TokenId token : {0, 1}) operations_.push_back({Kind::kAppend, view, {token}});
      for (const Kind kind :
           {Kind::kGrow, Kind::kCopy, Kind::kInexact, Kind::kAdopt, Kind::kDiscard}) {
        operations_.push_back({kind, view, {0}});
      }
    }
    operations_.push_back({Kind::kEvict});
    operations_.push_back({Kind::kFlush});
  }

  // Whether it can be done; else nothing happened.
  static bool Do(ModelledCache& model, const Operation& operation) {
    const std::size_t views = model.works().size();
    switch (operation.kind) {
      case Kind::kOpen:
        if (views == GetParam().views) return false;
        model.Open(0, operation.tokens, static_cast<std::int64_t>(operation.tokens.size()));
        return true;
      case Kind::kEvict:
        return EvictOne(model);
      case Kind::kFlush:
        model.Flush(0);
        return true;
      default:
        return operation.view < views && DoView(model, operation);
    }
  }

  static bool DoView(ModelledCache& model, const Operation& operation) {
    ModelledCache::Work& work = model.works()[operation.view];
    const std::size_t slots =
        work.view.page_table().size() * static_cast<std::size_t>(GetParam().page_size);
    const bool copies = model.cache().PendingCopy(work.view).has_value();
    const bool can_append = !copies && work.tokens.size() < slots && work.tokens.size() < 4;
    switch (operation.kind) {
      case Kind::kGrow:
        return work.tokens.size() >= slots && model.Grow(work, 1);
      case Kind::kCopy:
        if (copies) model.MakeCopy(work);
        return copies;
      case Kind::kAppend:
      case Kind::kInexact:
        if (!can_append) return false;
        model.Append(work, operation.tokens,
                     operation.kind == Kind::kAppend ? PrefixCache::Exactness::kExact
                                                     : PrefixCache::Exactness::kInexact);
        return true;
      default:
        model.Close(operation.view, operation.kind == Kind::kAdopt ? PrefixCache::Tail::kAdopt
                                                                   : PrefixCache::Tail::kDiscard);
        return true;
    }
  }

  static bool EvictOne(ModelledCache& model) {
    const Stats stats = model.cache().stats();
    if (stats.evictable == 0) return false;
    const std::int64_t free = stats.pages[static_cast<int>(PageState::kFree)];
    model.Grow(model.Open(0, {}, 0), static_cast<std::int32_t>(free) + 1);
    model.Close(model.works().size() - 1, PrefixCache::Tail::kDiscard);
    return true;
  }

  // False when the last operation cannot be done.
  bool Replay(ModelledCache& model, const Path& path) const {
    bool done = true;
    for (const std::uint8_t at : path) done = Do(model, operations_[at]);
    return done;
  }

  std::string Describe(const Path& path) const {
    static constexpr const char* kNames[] = {"open",  "grow",    "copy",  "append", "inexact",
                                             "adopt", "discard", "evict", "flush"};
    std::string text;
    for (const std::uint8_t at : path) {
      const Operation& operation = operations_[at];
      text += std::string(kNames[static_cast<std::size_t>(operation.kind)]) + " view " +
              std::to_string(operation.view) + " [";
      for (const TokenId token : operation.tokens) text += ' ' + std::to_string(token);
      text += " ]; ";
    }
    return text;
  }

  std::vector<Operation> operations_;
};

TEST_P(EveryState, IsSoundAndAgreesWithTheModel) {
  const Options options{.page_size = GetParam().page_size, .pages = GetParam().pages};
  std::vector<Path> frontier = {{}};
  std::unordered_set<std::string> seen;
  for (int depth = 0; depth < GetParam().depth - kShorter; ++depth) {
    std::vector<Path> next;
    for (const Path& path : frontier) {
      for (std::size_t at = 0; at < operations_.size(); ++at) {
        Path longer = path;
        longer.push_back(static_cast<std::uint8_t>(at));
        ModelledCache model(options, 1);
        if (!Replay(model, longer)) continue;
        model.CheckAll();
        ASSERT_FALSE(HasFailure()) << Describe(longer);
        if (seen.insert(Fingerprint(model).text()).second) next.push_back(std::move(longer));
        while (!model.works().empty()) model.Close(0, PrefixCache::Tail::kAdopt);
        ASSERT_EQ(model.cache().available_pages(), options.pages) << Describe(path) << at;
        ASSERT_FALSE(HasFailure()) << "ending all views after " << Describe(path) << at;
      }
    }
    frontier = std::move(next);
  }
  RecordProperty("states", static_cast<int>(seen.size()));
  if (kShorter == 0) {
    EXPECT_GE(seen.size(), GetParam().min_states);
  }
}

INSTANTIATE_TEST_SUITE_P(Radix, EveryState,
                         testing::Values(Case{1, 3, 2, 14, 7000}, Case{1, 4, 3, 11, 26000},
                                         Case{2, 3, 2, 13, 27000}, Case{2, 5, 3, 11, 35000},
                                         Case{3, 3, 2, 13, 34000}),
                         [](const auto& test) {
                           return "page" + std::to_string(test.param.page_size) + "_pool" +
                                  std::to_string(test.param.pages);
                         });

}  // namespace
}  // namespace banyan::radix
