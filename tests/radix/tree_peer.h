// Reaches into a tree, for tests of what stands behind prefix_cache.h.
#pragma once

#include <cstdint>

#include "radix/tree.h"

namespace banyan::radix {

class TreePeer {
 public:
  static Tree& Of(PrefixCache& cache) { return *cache.tree_; }
  static const PageCopy& Copy(const View& view) { return view.copy_; }
  static PageGap& Gap(View& view) { return view.gap_; }
  static PagePool& Pool(Tree& tree) { return tree.pool_; }
  static NodeTable& Nodes(Tree& tree) { return tree.branches_.nodes(); }
  static Branches& Shape(Tree& tree) { return tree.branches_; }
  static std::int64_t& CachedTokens(Tree& tree) { return tree.cached_tokens_; }
  static auto& Copies(Tree& tree) { return tree.copies_; }
  static auto& Views(Tree& tree) { return tree.views_; }
  static Namespaces& Names(Tree& tree) { return tree.namespaces_; }
  static auto& RootOf(Namespaces& names, NamespaceId id) {
    return names.entries_[Namespaces::PlaceOf(id)].root;
  }

  static auto& Stations(Tree& tree) { return tree.branches_.watches().stations_; }
  static Watch*& FirstChanged(Tree& tree) { return tree.branches_.watches().first_changed_; }
  static Watch*& LastChanged(Tree& tree) { return tree.branches_.watches().last_changed_; }
  static std::int64_t& Length(Watch& watch) { return watch.cached_tokens_; }
};

}  // namespace banyan::radix
