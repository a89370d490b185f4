// Conversations in few words.
#pragma once

#include <string>
#include <vector>

#include "text/codec.h"

namespace banyan::text {

struct Message {
  std::string role;
  std::string content;
};

inline Conversation Chat(const std::vector<Message>& messages) {
  Conversation conversation;
  for (const Message& message : messages) {
    conversation.messages.push_back(
        boost::json::object{{"role", message.role}, {"content", message.content}});
  }
  return conversation;
}

}  // namespace banyan::text
