// What a conversation has said so far, as the body of its next request. The history is written once
// and grows; a turn of a long conversation costs what it adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "loadtest/client/vocabulary.h"
#include "loadtest/run/request_format.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

class Dialogue {
 public:
  // Both outlive it.
  Dialogue(const RequestFormat& format, const Vocabulary& vocabulary);

  void Add(const Message& message);
  void AddAnswer(std::string_view text);  // the server's, as an assistant's message

  // The whole body. Valid until the next call of any function.
  std::string_view Body(std::int64_t output_tokens);

 private:
  void Append(Role role, std::string_view text);

  const RequestFormat& format_;
  const Vocabulary& vocabulary_;
  std::string body_;  // the head, the history, and perhaps a tail
  std::size_t history_end_;
};

}  // namespace banyan::loadtest
