// From what is asked of the engine to the HTTP answer, whole or as a stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/openai/choice.h"
#include "server/openai/exchange.h"
#include "server/openai/generation.h"
#include "server/openai/result.h"
#include "server/openai/wire.h"
#include "server/service.h"

namespace banyan::server::openai {

struct Question {
  std::vector<ChoicePlan> plans{};  // at least one
  Delivery delivery = Delivery::kWhole;
  FormatOptions format_options{};
  std::unique_ptr<const Format> (*format)(AnswerHead, const text::Codec&,
                                          const FormatOptions&) = nullptr;
  std::string_view id_kind{};       // as for Service::WireId
  std::string_view prompt_field{};  // the field at fault when the engine refuses a prompt
};

// Without plans and what differs between routes.
Question MakeQuestion(const Generation& generation);
// For each choice.
Answer::Options AnswerOptions(const Generation& generation);

// Answers what `prepare` makes of the body. Runs in the connection's coroutine. Whatever can be
// refused is refused before the first byte of a stream; a stream begins with the first token.
boost::asio::awaitable<void> Respond(Service& service, const http::Request& request,
                                     http::Responder& responder,
                                     Result<Question> (*prepare)(Service& service,
                                                                 const ServedModel& model,
                                                                 const std::string& body));

}  // namespace banyan::server::openai
