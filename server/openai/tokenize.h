// POST /tokenize and POST /detokenize: text to token ids and back. Both answer at once, whatever
// the engine does.
#pragma once

#include <cstddef>

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/service.h"

namespace banyan::server::openai {

// Encoding runs on an I/O thread and takes longest for one run without a break, such as a megabyte
// of one letter.
inline constexpr std::size_t kMaxTokenizeBytes = 1 << 20;

// One of:
//   "prompt"    as /v1/completions takes it: with the tokens that the model wants around a text,
//               control tokens recognized
//   "content"   as the text of a message: neither
//   "messages"  as /v1/chat/completions takes it, with its "tools", "chat_template_kwargs" and
//               "add_generation_prompt"
// "add_special_tokens" (or "add_special") and "parse_special" decide otherwise. Answers {"tokens",
// "count", "max_model_len"}; with "return_token_strs" also "token_strs"; with "with_pieces" tokens
// are {"id","piece"}, where a piece that is no whole text is an array of bytes.
boost::asio::awaitable<void> Tokenize(Service& service, const http::Request& request,
                                      http::Responder& responder);

// {"tokens"} to {"prompt","content"}, both the text.
boost::asio::awaitable<void> Detokenize(Service& service, const http::Request& request,
                                        http::Responder& responder);

}  // namespace banyan::server::openai
