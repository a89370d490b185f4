// Any bytes as a text, as pieces of a chat, and as a vocabulary. The first byte chooses the
// tokenizer; pieces are divided by U+001F, a message's and the template's in turn.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tests/text/toy_metadata.h"
#include "text/codec.h"
#include "text/nfc.h"
#include "text/stream.h"

namespace {

using banyan::TokenId;
using namespace banyan::text;

void Require(bool holds) {
  if (!holds) std::abort();
}

enum class Kind : std::uint8_t { kBytes, kNormalizedBytes, kPrefixedCharacters, kCharacters };

struct Tokenizer {
  Kind kind;
  std::unique_ptr<const Codec> codec;
  TokenId first_special = 0;  // from here on: control tokens, then user-defined ones
  TokenId first_user_defined = 0;
};

constexpr char kTokens[] = "tokenizer.ggml.tokens";
constexpr char kTypes[] = "tokenizer.ggml.token_type";

Tokenizer MakeByteLevel(Kind kind, const char* pre) {
  ToyMetadata metadata({"a b", "Ġ a", "ab c", "t h", "Ã ©", "1 2", "Ċ Ċ", "! !"}, {});
  auto& tokens = metadata.strings(kTokens);
  tokens.resize(256 + 8);
  const auto specials = static_cast<TokenId>(tokens.size());
  for (const char* control : {"<|im_start|>", "<|im_end|>", "<s>", "<s><s>"}) {
    tokens.push_back(control);
  }
  const auto user_defined = static_cast<TokenId>(tokens.size());
  for (const char* spelling : {"<b>", "b<s", "  ", "\n\n\n"}) tokens.push_back(spelling);
  auto& types = metadata.integers(kTypes);
  types.assign(tokens.size(), 1);
  std::fill(types.begin() + specials, types.begin() + user_defined, 3);
  std::fill(types.begin() + user_defined, types.end(), 4);
  metadata.values["tokenizer.ggml.pre"] = std::string(pre);
  metadata.values["tokenizer.ggml.eos_token_id"] = std::int64_t{specials + 1};
  auto codec = Codec::FromMetadata(metadata);
  Require(codec.ok());
  return {kind, *std::move(codec), specials, user_defined};
}

// As MakeByteLevel, but of characters: 3 special tokens, the bytes, pieces, control, user-defined.
Tokenizer MakeCharacters(Kind kind) {
  ToyMetadata metadata;
  metadata.values.clear();
  std::vector<std::string> tokens;
  std::vector<std::int64_t> types;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
    types.push_back(6);
  }
  for (const char* piece : {"▁▁", "▁ab", "ab", "▁a", "<s", "é中", "!▁", "▁", "a", "b", "<", "s",
                            ">", "é", "中", "!", "\n\n", "\n"}) {
    tokens.push_back(piece);
    types.push_back(1);
  }
  const auto specials = static_cast<TokenId>(tokens.size());
  for (const char* control : {"<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>"}) {
    tokens.push_back(control);
    types.push_back(3);
  }
  const auto user_defined = static_cast<TokenId>(tokens.size());
  for (const char* spelling : {"<b>", "b<s", "   "}) {
    tokens.push_back(spelling);
    types.push_back(4);
  }
  std::vector<double> scores;
  for (std::size_t i = 0; i < tokens.size(); ++i) scores.push_back(-static_cast<double>(i / 2));
  metadata.values["tokenizer.ggml.model"] = std::string("llama");
  metadata.values[kTokens] = tokens;
  metadata.values[kTypes] = types;
  metadata.values["tokenizer.ggml.scores"] = scores;
  metadata.values["tokenizer.ggml.bos_token_id"] = std::int64_t{specials};
  metadata.values["tokenizer.ggml.eos_token_id"] = std::int64_t{specials + 1};
  metadata.values["tokenizer.ggml.unknown_token_id"] = std::int64_t{specials + 2};
  metadata.values["tokenizer.ggml.add_space_prefix"] = kind == Kind::kPrefixedCharacters;
  auto codec = Codec::FromMetadata(metadata);
  Require(codec.ok());
  return {kind, *std::move(codec), specials, user_defined};
}

const std::vector<Tokenizer>& Tokenizers() {
  static const auto* tokenizers = [] {
    auto* made = new std::vector<Tokenizer>;
    for (const char* pre : {"gpt-2", "smollm", "llama-bpe", "tekken", "gpt-4o", "falcon",
                            "deepseek-llm", "deepseek-coder", "deepseek-v3", "seed-coder"}) {
      made->push_back(MakeByteLevel(Kind::kBytes, pre));
    }
    for (const char* pre : {"qwen2", "qwen35", "command-r", "mpt"}) {
      made->push_back(MakeByteLevel(Kind::kNormalizedBytes, pre));
    }
    made->push_back(MakeCharacters(Kind::kPrefixedCharacters));
    made->push_back(MakeCharacters(Kind::kCharacters));
    return made;
  }();
  return *tokenizers;
}

std::vector<TokenId> Controls(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::vector<TokenId> controls;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(controls), [&](TokenId id) {
    return id >= tokenizer.first_special && id < tokenizer.first_user_defined;
  });
  return controls;
}

// What decoding gives back of a text without user-defined tokens.
std::string Kept(Kind kind, std::string_view text) {
  if (kind == Kind::kBytes) return std::string(text);
  if (kind == Kind::kNormalizedBytes) return ToNfc(text).value_or(std::string(text));
  std::string kept(text);
  for (std::size_t at = 0; (at = kept.find("▁", at)) != std::string::npos; ++at) {
    kept.replace(at, 3, " ");
  }
  return kept;
}

void CheckText(const Tokenizer& tokenizer, std::string_view text) {
  const Codec& codec = *tokenizer.codec;
  const auto ids = codec.Encode(text, ControlTokens::kPlainText);
  const std::size_t invalid = banyan::FirstInvalidUtf8(text);
  Require(ids.ok() == (invalid == std::string_view::npos));
  if (!ids.ok()) {
    const std::string at = "at byte " + std::to_string(invalid);
    Require(std::string(ids.status().message()).find(at) != std::string::npos);
    return;
  }
  Require(Controls(tokenizer, *ids).empty());
  Require(ids->size() * codec.longest_token_bytes() >= text.size());
  const bool user_defined =
      std::ranges::any_of(*ids, [&](TokenId id) { return id >= tokenizer.first_user_defined; });
  if (!user_defined) Require(codec.Decode(*ids) == Kept(tokenizer.kind, text));
  std::string bytes;
  std::string streamed;
  Detokenizer detokenizer(codec);
  for (const TokenId id : *ids) {
    Require(id >= 0 && id < codec.vocabulary_size());
    bytes += codec.TokenBytes(id);
    streamed += detokenizer.Push(id);
  }
  streamed += detokenizer.Finish();
  Require(streamed == banyan::ToValidUtf8(bytes));
  Require(codec.Encode(text, ControlTokens::kRecognize, AddedTokens::kAsModelAsks).ok());
}

// The control tokens of a chat are those of the template's text alone.
void CheckPieces(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<Piece> pieces;
  std::vector<TokenId> expected;
  std::string written;
  const auto take = [&] {
    const auto ids = tokenizer.codec->Encode(std::exchange(written, {}), ControlTokens::kRecognize);
    if (!ids.ok()) return;
    const std::vector<TokenId> controls = Controls(tokenizer, *ids);
    expected.insert(expected.end(), controls.begin(), controls.end());
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\x1f', at), text.size());
    const std::string part(text.substr(at, end - at));
    const Origin origin = pieces.size() % 2 == 0 ? Origin::kMessage : Origin::kTemplate;
    if (origin == Origin::kTemplate) written += part;
    if (origin == Origin::kMessage && !part.empty()) take();
    pieces.push_back({part, origin});
    at = end + 1;
  }
  take();
  const auto ids = tokenizer.codec->Encode(pieces);
  const bool valid = std::ranges::all_of(pieces, [](const Piece& piece) {
    return banyan::FirstInvalidUtf8(piece.text) == std::string::npos;
  });
  Require(ids.ok() == valid);
  if (valid) Require(Controls(tokenizer, *ids) == expected);
}

// Lines of a type and a spelling; those of "m" are merges.
void CheckVocabulary(std::string_view lines) {
  ToyMetadata metadata;
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  std::vector<std::int64_t> types;
  std::vector<double> scores;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line = lines.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    if (line[0] == 'm') {
      merges.emplace_back(line.substr(1));
      continue;
    }
    types.push_back(line[0] - '0');
    tokens.emplace_back(line.substr(1));
    scores.push_back(-static_cast<double>(types.size() / 3));
  }
  metadata.values[kTokens] = tokens;
  metadata.values[kTypes] = types;
  metadata.values["tokenizer.ggml.merges"] = merges;
  metadata.values["tokenizer.ggml.scores"] = scores;
  metadata.values["tokenizer.ggml.eos_token_id"] = std::int64_t{0};
  metadata.values.erase("tokenizer.chat_template");
  for (const char* model : {"gpt2", "llama", "gemma4"}) {
    metadata.values["tokenizer.ggml.model"] = std::string(model);
    const auto codec = Codec::FromMetadata(metadata);
    if (!codec.ok()) {
      Require(std::string(codec.status().message()).find("tokenizer.ggml.") != std::string::npos);
      continue;
    }
    const std::string text = banyan::ToValidUtf8(lines);
    const auto ids = (*codec)->Encode(text, ControlTokens::kPlainText, AddedTokens::kAsModelAsks);
    Require(ids.ok());
    (*codec)->Decode(*ids);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<Tokenizer>& tokenizers = Tokenizers();
  const std::size_t choice = data[0] % (tokenizers.size() + 1);
  if (choice == tokenizers.size()) {
    CheckVocabulary(text);
    return 0;
  }
  CheckText(tokenizers[choice], text);
  CheckPieces(tokenizers[choice], text);
  return 0;
}
