// POST /tokenize: the token ids of a text, or of a chat.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/service.h"

namespace banyan::server::openai {

// {"content": text} (or "prompt") is encoded as the text of a message would be: control tokens in
// it are plain characters. {"messages": [...]} is encoded as a chat request's prompt. Answers
// {"tokens": [...], "count": n, "max_model_len": n}.
boost::asio::awaitable<void> Tokenize(Service& service, const http::Request& request,
                                      http::Responder& responder);

}  // namespace banyan::server::openai
