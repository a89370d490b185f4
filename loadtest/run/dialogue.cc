#include "loadtest/run/dialogue.h"

#include "loadtest/client/json_text.h"

namespace banyan::loadtest {
namespace {

std::string_view NameOf(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "user";
}

}  // namespace

Dialogue::Dialogue(const RequestFormat& format, const Vocabulary& vocabulary)
    : format_(format),
      vocabulary_(vocabulary),
      body_(format.Head()),
      history_end_(format.Head().size()) {}

void Dialogue::Add(const Message& message) { Append(message.role, vocabulary_.Text(message)); }

void Dialogue::AddAnswer(std::string_view text) { Append(Role::kAssistant, text); }

void Dialogue::Append(Role role, std::string_view text) {
  body_.resize(history_end_);
  if (format_.api() == Api::kChat) {
    if (history_end_ > format_.Head().size()) body_ += ',';
    body_ += "{\"role\":\"";
    body_ += NameOf(role);
    body_ += "\",\"content\":\"";
    AppendEscaped(text, body_);
    body_ += "\"}";
  } else {
    AppendEscaped(text, body_);
  }
  history_end_ = body_.size();
}

std::string_view Dialogue::Body(std::int64_t output_tokens) {
  body_.resize(history_end_);
  format_.AppendTail(output_tokens, body_);
  return body_;
}

}  // namespace banyan::loadtest
