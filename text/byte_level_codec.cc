#include "text/byte_level_codec.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace banyan::text {
namespace {

// Control tokens that end an answer whichever of them `tokenizer.ggml.eos_token_id` names: chat
// models end their turn with the one and a text with the other.
constexpr std::array<std::string_view, 2> kEndTokens = {"<|im_end|>", "<|endoftext|>"};

absl::Status TooLong() {
  return absl::InvalidArgumentError(
      absl::StrCat("the text has more than ", kMaxTextBytes, " bytes"));
}

absl::Status NotUtf8(std::size_t offset) {
  return absl::InvalidArgumentError(absl::StrCat("the text is not UTF-8 at byte ", offset));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Codec>> ByteLevelCodec::Create(Parts parts) {
  absl::StatusOr<Bpe> bpe = Bpe::Create(*parts.vocabulary, parts.merges);
  if (!bpe.ok()) return bpe.status();
  absl::StatusOr<ControlTokenFinder> control_tokens = ControlTokenFinder::Create(*parts.vocabulary);
  if (!control_tokens.ok()) return control_tokens.status();
  return std::unique_ptr<const Codec>(
      new ByteLevelCodec(std::move(parts), *std::move(bpe), *std::move(control_tokens)));
}

ByteLevelCodec::ByteLevelCodec(Parts parts, Bpe bpe, ControlTokenFinder control_tokens)
    : vocabulary_(std::move(parts.vocabulary)),
      bpe_(std::move(bpe)),
      control_tokens_(std::move(control_tokens)),
      pre_tokenizer_(std::move(parts.pre_tokenizer)),
      chat_template_(std::move(parts.chat_template)),
      end_tokens_(std::move(parts.end_tokens)) {
  for (const std::string_view name : kEndTokens) {
    const std::optional<TokenId> id = vocabulary_->Find(name, TokenType::kControl);
    if (id) end_tokens_.push_back(*id);
  }
  std::sort(end_tokens_.begin(), end_tokens_.end());
  end_tokens_.erase(std::unique(end_tokens_.begin(), end_tokens_.end()), end_tokens_.end());
}

absl::StatusOr<std::vector<TokenId>> ByteLevelCodec::Encode(std::string_view text,
                                                            ControlTokens control,
                                                            AddedTokens) const {
  if (text.size() > kMaxTextBytes) return TooLong();
  const std::size_t invalid = FirstInvalidUtf8(text);
  if (invalid != std::string_view::npos) return NotUtf8(invalid);
  const std::array<Range, 1> whole = {Range{.begin = 0, .end = text.size()}};
  return EncodeRanges(text, std::span(whole).first(control == ControlTokens::kRecognize ? 1 : 0));
}

absl::StatusOr<std::vector<TokenId>> ByteLevelCodec::Encode(std::span<const Piece> pieces,
                                                            AddedTokens) const {
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
  return EncodeRanges(text, from_template);
}

std::string ByteLevelCodec::Decode(std::span<const TokenId> tokens) const {
  std::string text;
  for (const TokenId token : tokens) {
    const std::string_view bytes = TokenBytes(token);
    text.append(bytes.empty() ? TokenPiece(token) : bytes);
  }
  return text;
}

absl::StatusOr<std::vector<TokenId>> ByteLevelCodec::EncodeRanges(
    std::string_view text, std::span<const Range> from_template) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 4);
  BpeScratch scratch;
  std::size_t plain = 0;  // what lies before it is in `ids`
  for (const Range& range : from_template) {
    std::size_t at = range.begin;
    while (const auto found = control_tokens_.Find(text.substr(0, range.end), at)) {
      absl::Status status = EncodePlain(text.substr(plain, found->begin - plain), ids, scratch);
      if (!status.ok()) return status;
      ids.push_back(found->id);
      at = plain = found->begin + found->length;
    }
  }
  if (absl::Status status = EncodePlain(text.substr(plain), ids, scratch); !status.ok()) {
    return status;
  }
  return ids;
}

absl::Status ByteLevelCodec::EncodePlain(std::string_view text, std::vector<TokenId>& ids,
                                         BpeScratch& scratch) const {
  if (!pre_tokenizer_) {
    bpe_.Encode(text, ids, scratch);
    return absl::OkStatus();
  }
  return pre_tokenizer_->Split(text, [&](std::string_view run) { bpe_.Encode(run, ids, scratch); });
}

}  // namespace banyan::text
