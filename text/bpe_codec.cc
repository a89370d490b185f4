#include "text/bpe_codec.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace banyan::text {
namespace {

absl::Status TooLong() {
  return absl::InvalidArgumentError(
      absl::StrCat("the text has more than ", kMaxTextBytes, " bytes"));
}

absl::Status NotUtf8(std::size_t offset) {
  return absl::InvalidArgumentError(absl::StrCat("the text is not UTF-8 at byte ", offset));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Codec>> BpeCodec::Create(Parts parts) {
  absl::StatusOr<ControlTokenFinder> control_tokens = ControlTokenFinder::Create(*parts.vocabulary);
  if (!control_tokens.ok()) return control_tokens.status();
  return std::unique_ptr<const Codec>(new BpeCodec(std::move(parts), *std::move(control_tokens)));
}

BpeCodec::BpeCodec(Parts parts, ControlTokenFinder control_tokens)
    : parts_(std::move(parts)), control_tokens_(std::move(control_tokens)) {
  auto& ends = parts_.end_tokens;
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

absl::StatusOr<std::vector<TokenId>> BpeCodec::Encode(std::string_view text, ControlTokens control,
                                                      AddedTokens added) const {
  if (text.size() > kMaxTextBytes) return TooLong();
  const std::size_t invalid = FirstInvalidUtf8(text);
  if (invalid != std::string_view::npos) return NotUtf8(invalid);
  const std::array<Range, 1> whole = {Range{.begin = 0, .end = text.size()}};
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4 + 2);
  const bool adds = added == AddedTokens::kAsModelAsks;
  if (adds && parts_.begin) ids.push_back(*parts_.begin);
  EncodeRanges(text, std::span(whole).first(control == ControlTokens::kRecognize ? 1 : 0), ids);
  if (adds && parts_.end) ids.push_back(*parts_.end);
  return ids;
}

absl::StatusOr<std::vector<TokenId>> BpeCodec::Encode(std::span<const Piece> pieces,
                                                      AddedTokens added) const {
  std::string text;
  std::vector<Range> from_template;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.text.size() > kMaxTextBytes - text.size()) return TooLong();
    const std::size_t invalid = FirstInvalidUtf8(piece.text);
    if (invalid != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("piece ", i, ": ", NotUtf8(invalid).message()));
    }
    const Range range = {.begin = text.size(), .end = text.size() + piece.text.size()};
    text.append(piece.text);
    if (piece.origin != Origin::kTemplate) continue;
    if (!from_template.empty() && from_template.back().end == range.begin) {
      from_template.back().end = range.end;
    } else {
      from_template.push_back(range);
    }
  }
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4 + 1);
  EncodeRanges(text, from_template, ids);
  const bool begins = !ids.empty() && ids.front() == parts_.begin;
  if (added == AddedTokens::kAsModelAsks && parts_.begin && !begins) {
    ids.insert(ids.begin(), *parts_.begin);
  }
  return ids;
}

std::string BpeCodec::Decode(std::span<const TokenId> tokens) const {
  std::string text;
  for (const TokenId token : tokens) {
    const std::string_view bytes = TokenBytes(token);
    text.append(bytes.empty() ? TokenPiece(token) : bytes);
  }
  if (parts_.space_prefix == SpacePrefix::kAdded && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

// Control tokens first, each template's range by itself: so a user-defined token that a message
// completes can never take the place of one that the template wrote.
void BpeCodec::EncodeRanges(std::string_view text, std::span<const Range> from_template,
                            std::vector<TokenId>& ids) const {
  BpeScratch scratch;
  std::size_t done = 0;  // what lies before it is in `ids`
  for (const Range& range : from_template) {
    std::size_t at = range.begin;
    while (const auto found =
               control_tokens_.Find(text.substr(0, range.end), at, Searched::kEveryToken)) {
      at = found->begin + found->length;
      if (control_tokens_.IsUserDefined(found->id)) continue;
      EncodeOpen(text.substr(done, found->begin - done), ids, scratch);
      ids.push_back(found->id);
      done = at;
    }
  }
  EncodeOpen(text.substr(done), ids, scratch);
}

void BpeCodec::EncodeOpen(std::string_view text, std::vector<TokenId>& ids,
                          BpeScratch& scratch) const {
  std::size_t done = 0;
  while (const auto found = control_tokens_.Find(text, done, Searched::kUserDefined)) {
    EncodePlain(text.substr(done, found->begin - done), ids, scratch);
    ids.push_back(found->id);
    done = found->begin + found->length;
  }
  EncodePlain(text.substr(done), ids, scratch);
}

void BpeCodec::EncodePlain(std::string_view text, std::vector<TokenId>& ids,
                           BpeScratch& scratch) const {
  if (text.empty()) return;
  if (parts_.runs == nullptr) {
    parts_.bpe->Encode(text, ids, scratch);
    return;
  }
  parts_.runs->ForEachRun(text,
                          [&](std::string_view run) { parts_.bpe->Encode(run, ids, scratch); });
}

}  // namespace banyan::text
