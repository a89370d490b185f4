#include "kernels/cuda/attend.h"

#include "kernels/cuda/attention.h"
#include "kernels/cuda/pages.h"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

void LaunchTiles(Stream stream, const AttendArguments& arguments, std::int32_t tiles,
                 std::int32_t queries, const Output& out) {
  switch (arguments.pages.format) {
    case KvFormat::kF16:
      return AttendTiles<KvFormat::kF16>(stream, arguments, tiles, queries, out);
    case KvFormat::kBf16:
      return AttendTiles<KvFormat::kBf16>(stream, arguments, tiles, queries, out);
    case KvFormat::kFp8:
      return AttendTiles<KvFormat::kFp8>(stream, arguments, tiles, queries, out);
    case KvFormat::kInt8:
      return AttendTiles<KvFormat::kInt8>(stream, arguments, tiles, queries, out);
    case KvFormat::kInt4:
      return AttendTiles<KvFormat::kInt4>(stream, arguments, tiles, queries, out);
  }
  RequireFailed("a format of pages that is none");
}

}  // namespace

void Attend(Stream stream, const Queries& queries, const AttentionWork& work,
            const AttentionPart& part, const KvPages& kv, std::int32_t layer,
            const AttentionPartials& partials, Output out) {
  const std::int32_t head_dim = kv.pages.head_dim;
  Require(head_dim % kVector == 0 && head_dim <= kMaxHeadDim,
          "a head of these dimensions does not fit a tile");
  Require(queries.heads % kv.pages.kv_heads == 0 && queries.heads / kv.pages.kv_heads <= kMaxGroup,
          "query heads are whole groups, and not too many of them");
  AttendArguments arguments{.queries = queries,
                            .work = work,
                            .partials = partials,
                            .pages = kv.pages,
                            .open = kv.open,
                            .layer = layer,
                            .first_tile = part.first_tile,
                            .first_item = part.first_item};
  for (std::int32_t kind = 0; kind < kTileKinds; ++kind) {
    const std::int32_t tiles = part.tiles[kind];
    if (tiles == 0) continue;
    arguments.pages = IsOwn(static_cast<TileKind>(kind)) ? kv.open.open : kv.pages;
    LaunchTiles(stream, arguments, tiles, QueriesOf(static_cast<TileKind>(kind)), out);
    arguments.first_tile += tiles;
  }
  if (part.items == 0) return;
  MergeChunks(stream, work, part, partials, queries.heads, head_dim, out);
}

}  // namespace banyan::kernels::cuda
