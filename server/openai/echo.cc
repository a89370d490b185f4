#include "server/openai/echo.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "text/stream.h"

namespace banyan::server::openai {
namespace {

// The most that encoding puts before a text: the spelling of a begin-of-text token, and a space.
constexpr std::size_t kMaxAddedBytes = 64;

// Where `text` lies in `joined`, the spellings of its tokens; 0 when it does not, as the model's
// tokenizer rewrites what it encodes.
std::size_t Find(std::string_view text, std::string_view joined) {
  for (std::size_t at = 0; at <= kMaxAddedBytes && at + text.size() <= joined.size(); ++at) {
    if (joined.substr(at, text.size()) == text) return at;
  }
  return 0;
}

std::int64_t Characters(std::string_view text) {
  return static_cast<std::int64_t>(CountCharacters(text));
}

}  // namespace

Echo::Echo(const text::Codec& codec, std::string text, std::vector<TokenId> prompt)
    : codec_(&codec), text_(std::move(text)), prompt_(std::move(prompt)) {}

std::int64_t Echo::characters() const { return Characters(text_); }

Delta Echo::Tell(std::vector<ScoredToken> scores) const {
  Delta delta = Tell();
  const std::vector<std::int64_t> offsets = Offsets();
  const std::size_t count = std::min(prompt_.size(), scores.size() + 1);
  delta.entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Entry& entry = delta.entries.emplace_back();
    entry.token = prompt_[i];
    entry.offset = offsets[i];
    if (i == 0) continue;
    entry.log_probability = scores[i - 1].log_probability;
    entry.top = std::move(scores[i - 1].top);
  }
  return delta;
}

std::vector<std::int64_t> Echo::Offsets() const {
  std::vector<std::int64_t> offsets;
  offsets.reserve(prompt_.size());
  text::Detokenizer detokenizer(*codec_);
  std::string joined;
  std::int64_t characters = 0;
  for (const TokenId token : prompt_) {
    offsets.push_back(characters);
    const std::size_t start = joined.size();
    if (codec_->TokenBytes(token).empty()) {  // decoding spells control tokens out
      joined += detokenizer.Finish();
      joined += codec_->TokenPiece(token);
    } else {
      joined += detokenizer.Push(token);
    }
    characters += Characters(std::string_view(joined).substr(start));
  }
  const std::int64_t before = Characters(std::string_view(joined).substr(0, Find(text_, joined)));
  const std::int64_t most = Characters(text_);
  for (std::int64_t& offset : offsets) {
    offset = std::clamp<std::int64_t>(offset - before, 0, most);
  }
  return offsets;
}

}  // namespace banyan::server::openai
