// The part of a request that its chat template sees.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/json/object.hpp>

#include "server/openai/result.h"
#include "text/codec.h"

namespace banyan::server::openai {

inline constexpr std::size_t kMaxTools = 128;
inline constexpr std::size_t kMaxTemplateArguments = 64;

// The members "messages", "tools", "chat_template_kwargs" and "add_generation_prompt" of `request`.
// What a message says beyond what the API knows is the template's own business and passed on, and
// so are roles; what the API knows has its type and form checked:
//  - content is one string: parts of text are joined, an assistant's null or absent one is empty;
//  - the role "developer" is the newer name of "system", which templates know;
//  - the arguments of tool calls, JSON in a string on the wire, are objects to templates.
Result<text::Conversation> ParseConversation(const boost::json::object& request, std::int64_t now);

}  // namespace banyan::server::openai
