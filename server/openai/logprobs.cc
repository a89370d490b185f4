#include "server/openai/logprobs.h"

#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8.h"
#include "server/openai/json_text.h"

namespace banyan::server::openai {
namespace {

std::string Logprob(float value) {
  return Number(value > kLeastLogprob ? value : kLeastLogprob);  // what is no number, too
}

std::string Bytes(std::string_view bytes) {
  if (bytes.empty()) return "null";
  std::string list;
  for (const char byte : bytes) AppendItem(list, absl::StrCat(static_cast<unsigned char>(byte)));
  return absl::StrCat("[", list, "]");
}

// "token", "logprob" and "bytes", without the braces.
std::string TokenMembers(const text::Codec& codec, TokenId token, float log_probability) {
  const std::string_view bytes = codec.TokenBytes(token);
  const std::string spelling = ToValidUtf8(bytes.empty() ? codec.TokenPiece(token) : bytes);
  return absl::StrCat("\"token\":", Quoted(spelling), ",\"logprob\":", Logprob(log_probability),
                      ",\"bytes\":", Bytes(bytes));
}

// Unlike U+FFFD, tells tokens of different bytes apart: they are keys.
std::string CompletionName(const text::Codec& codec, TokenId token) {
  const std::string_view bytes = codec.TokenBytes(token);
  if (bytes.empty()) return ToValidUtf8(codec.TokenPiece(token));
  if (FirstInvalidUtf8(bytes) == std::string_view::npos) return std::string(bytes);
  std::string name = "bytes:";
  for (const char byte : bytes) {
    absl::StrAppendFormat(&name, "\\x%02x", static_cast<unsigned char>(byte));
  }
  return name;
}

std::string TopByName(const text::Codec& codec, const Entry& entry) {
  absl::flat_hash_set<std::string> names;
  std::string members;
  const auto add = [&](TokenId token, float log_probability) {
    const std::string name = CompletionName(codec, token);
    if (!names.insert(name).second) return;  // the more probable one was first
    AppendItem(members, absl::StrCat(Quoted(name), ":", Logprob(log_probability)));
  };
  for (const TokenLogprob& one : entry.top) add(one.token, one.log_probability);
  add(entry.token, *entry.log_probability);
  return absl::StrCat("{", members, "}");
}

}  // namespace

std::string ChatLogprobs(const text::Codec& codec, std::span<const Entry> entries) {
  std::string content;
  for (const Entry& entry : entries) {
    std::string top;
    for (const TokenLogprob& one : entry.top) {
      AppendItem(top, absl::StrCat("{", TokenMembers(codec, one.token, one.log_probability), "}"));
    }
    AppendItem(
        content,
        absl::StrCat("{", TokenMembers(codec, entry.token, entry.log_probability.value_or(0)),
                     ",\"top_logprobs\":[", top, "]}"));
  }
  return absl::StrCat("{\"content\":[", content, "],\"refusal\":null}");
}

std::string CompletionLogprobs(const text::Codec& codec, std::span<const Entry> entries) {
  std::string tokens;
  std::string logprobs;
  std::string tops;
  std::string offsets;
  for (const Entry& entry : entries) {
    AppendItem(tokens, Quoted(CompletionName(codec, entry.token)));
    AppendItem(logprobs, entry.log_probability ? Logprob(*entry.log_probability) : "null");
    AppendItem(tops, entry.log_probability ? TopByName(codec, entry) : "null");
    AppendItem(offsets, absl::StrCat(entry.offset));
  }
  return absl::StrCat("{\"tokens\":[", tokens, "],\"token_logprobs\":[", logprobs,
                      "],\"top_logprobs\":[", tops, "],\"text_offset\":[", offsets, "]}");
}

}  // namespace banyan::server::openai
