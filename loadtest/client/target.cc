#include "loadtest/client/target.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "loadtest/client/ask.h"
#include "loadtest/client/tokenizer.h"

namespace banyan::loadtest {
namespace {

using boost::asio::awaitable;

constexpr std::int32_t kTemplateSampleTokens = 16;

// What {"data":[{"id":...}]} names; nullopt when it is something else.
std::optional<std::vector<std::string>> ModelsOf(std::string_view body) {
  const boost::json::value value = ParseReply(body);
  const auto* data = value.is_object() ? value.get_object().if_contains("data") : nullptr;
  if (data == nullptr || !data->is_array()) return std::nullopt;
  std::vector<std::string> models;
  for (const auto& entry : data->get_array()) {
    const auto* id = entry.is_object() ? entry.get_object().if_contains("id") : nullptr;
    if (id != nullptr && id->is_string()) models.emplace_back(id->get_string().c_str());
  }
  return models;
}

absl::StatusOr<std::string> ChooseModel(const Reply& reply, const std::string& wanted) {
  if (reply.result.error != http::ClientError::kNone) {
    return absl::UnavailableError(reply.result.what);
  }
  if (reply.status == 401 || reply.status == 403) {
    return absl::InvalidArgumentError(
        absl::StrCat("the server answers /v1/models with status ", reply.status, " (a key?)"));
  }
  if (reply.status == 503) {
    return absl::UnavailableError("the server answers /v1/models with status 503: not ready");
  }
  const auto models = reply.ok() ? ModelsOf(reply.body) : std::nullopt;
  if (!models || models->empty()) {
    if (!wanted.empty()) return wanted;  // a server without such a list
    return absl::InvalidArgumentError(
        reply.ok() ? "/v1/models does not say what is served: name it by --model"
                   : absl::StrCat("the server answers /v1/models with status ", reply.status,
                                  ": name what it serves by --model"));
  }
  if (wanted.empty()) return models->front();
  for (const std::string& model : *models) {
    if (model == wanted) return wanted;
  }
  return absl::NotFoundError(
      absl::StrCat("the server serves ", absl::StrJoin(*models, ", "), ", not ", wanted));
}

}  // namespace

awaitable<absl::StatusOr<Target>> Target::Find(http::Client& client, const TargetOptions& options) {
  const Reply models = co_await Ask(client, "/v1/models", "");
  absl::StatusOr<std::string> model = ChooseModel(models, options.model);
  if (!model.ok()) co_return model.status();

  Target target;
  target.model_ = *std::move(model);
  Tokenizer tokenizer(client, target.model_);
  target.vocabulary_ = co_await tokenizer.Choose();
  if (options.api == Api::kChat && target.vocabulary_.exact()) {
    std::string message;
    target.vocabulary_.Append({1, kTemplateSampleTokens}, message);
    const std::optional<std::int64_t> tokens = co_await tokenizer.CountPrompt(message);
    if (tokens) target.template_tokens_ = *tokens - kTemplateSampleTokens;
  }
  co_return target;
}

awaitable<std::optional<ServerSample>> Target::Sample(http::Client& client) {
  const Reply reply = co_await Ask(client, "/metrics", "");
  if (!reply.ok()) co_return std::nullopt;
  co_return ParseMetrics(reply.body);
}

}  // namespace banyan::loadtest
