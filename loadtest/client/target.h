// The server under test: what it serves, how its tokens are counted, what its metrics say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "absl/status/statusor.h"
#include "http/client.h"
#include "loadtest/client/answer_part.h"
#include "loadtest/client/vocabulary.h"
#include "loadtest/measure/result.h"

namespace banyan::loadtest {

struct TargetOptions {
  http::ClientOptions http;
  Api api = Api::kChat;
  std::string model;  // "": the first that /v1/models names
};

class Target {
 public:
  // Asks /v1/models and, when it can, /tokenize. kUnavailable when nothing answers there, kNotFound
  // when the server does not serve `model`, kInvalidArgument when it refuses the question (a key)
  // or does not say what it serves and no model is named.
  static boost::asio::awaitable<absl::StatusOr<Target>> Find(http::Client& client,
                                                             const TargetOptions& options);

  const std::string& model() const { return model_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Tokens that the chat template adds to a prompt of one user message; 0 when it cannot be asked.
  std::int64_t template_tokens() const { return template_tokens_; }

  // What /metrics says, of Banyan, vLLM, SGLang and llama.cpp under their own names, but for its
  // time; nullopt when there is no such page.
  static boost::asio::awaitable<std::optional<ServerSample>> Sample(http::Client& client);

 private:
  std::string model_;
  Vocabulary vocabulary_;
  std::int64_t template_tokens_ = 0;
};

// A page of Prometheus text as a sample. Pure.
ServerSample ParseMetrics(std::string_view page);

}  // namespace banyan::loadtest
