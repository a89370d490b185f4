// From a checked request to what the scheduler takes.
#pragma once

#include <span>
#include <vector>

#include "scheduler/inbox.h"
#include "server/openai/chat_request.h"
#include "server/openai/result.h"
#include "server/service.h"
#include "text/codec.h"

namespace banyan::server::openai {

// The chat template over the conversation, encoded. 400 when the template does not allow them;
// context_length_exceeded, before any work is done on them, when its messages have more bytes than
// a context's tokens can stand for.
Result<std::vector<TokenId>> EncodeChat(const ServedModel& model,
                                        const text::Conversation& conversation);

// All but its id and stream. 400 context_length_exceeded when it can never run.
Result<scheduler::Request> MakeRequest(Service& service, const ServedModel& model,
                                       const ChatRequest& chat);

}  // namespace banyan::server::openai
