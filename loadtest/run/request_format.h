// What every request of a run says beside its prompt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "loadtest/client/answer_part.h"

namespace banyan::loadtest {

struct RequestOptions {
  Api api = Api::kChat;
  std::string model;
  double temperature = 0;
  bool ignore_eos = true;
  std::string extra_body;  // "" or a JSON object; its members win over what is written here
};

class RequestFormat {
 public:
  // kInvalidArgument when extra_body is not an object, or says what is asked.
  static absl::StatusOr<RequestFormat> Create(const RequestOptions& options);

  Api api() const { return api_; }
  std::string_view path() const;

  // A body is Head(), the prompt, Tail(). The prompt of a chat is messages, with commas between
  // them; of a completion it is escaped text. `output_tokens` 0: as the server likes; then neither
  // a length nor ignore_eos is asked for, because an answer might never end.
  const std::string& Head() const { return head_; }
  void AppendTail(std::int64_t output_tokens, std::string& body) const;

 private:
  Api api_ = Api::kChat;
  std::string head_;
  std::string tail_;
  bool max_tokens_ = true;  // written, because extra_body does not say it
  bool ignore_eos_ = true;
};

}  // namespace banyan::loadtest
