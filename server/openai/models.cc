#include "server/openai/models.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "server/kv_policy.h"
#include "server/openai/body.h"
#include "server/openai/reply.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;

constexpr std::string_view kPrefix = "/v1/models/";

// One entry; the member "banyan" is ours.
std::string ModelJson(const std::string& name, std::int64_t created, const ServedModel& model) {
  json::object banyan;
  banyan["architecture"] = model.facts.architecture;
  banyan["parameters"] = model.facts.parameters;
  banyan["vocabulary_size"] = model.facts.vocabulary_size;
  banyan["weight_bytes"] = model.facts.weight_bytes;
  banyan["kv_pool_bytes"] =
      model.facts.kv_bytes_per_token * model.cache.page_size * model.cache.pages +
      model.facts.kv_open_bytes;
  if (model.facts.seals_pages) banyan["kv_open_bytes"] = model.facts.kv_open_bytes;
  banyan["kv_bytes_per_token"] = model.facts.kv_bytes_per_token;
  if (!model.facts.kv_dtype.empty()) banyan["kv_dtype"] = model.facts.kv_dtype;
  if (model.kv_policy) {
    const std::string_view type = Name(model.kv_policy->type);
    json::object policy;
    policy["type"] = json::string_view(type.data(), type.size());
    for (const KvPolicyMember& member : MembersOf(model.kv_policy->type)) {
      policy[json::string_view(member.name.data(), member.name.size())] =
          member.get(*model.kv_policy);
    }
    banyan["kv_policy"] = std::move(policy);
  }
  banyan["page_size"] = model.cache.page_size;
  banyan["pages"] = model.cache.pages;
  if (!model.facts.cpu_variant.empty()) banyan["cpu_variant"] = model.facts.cpu_variant;
  if (!model.facts.device.empty()) banyan["device"] = model.facts.device;
  if (model.facts.architecture == "null") {
    banyan["note"] = "a model without weights: its answers are a hash of the prompt";
  }
  json::object entry;
  entry["id"] = name;
  entry["object"] = "model";
  entry["created"] = created;
  entry["owned_by"] = "banyan";
  entry["max_model_len"] = model.scheduling.context_length;
  entry["banyan"] = std::move(banyan);
  return json::serialize(entry);
}

Result<std::string> ModelList(const Service& service, const ServedModel& model,
                              const http::Request&) {
  std::string list = R"({"object":"list","data":[)";
  list += ModelJson(service.model_name(), service.started_unix(), model);
  list += "]}";
  return list;
}

Result<std::string> OneModel(const Service& service, const ServedModel& model,
                             const http::Request& request) {
  const std::string_view asked = std::string_view(request.path).substr(kPrefix.size());
  if (asked != service.model_name()) return ModelNotFound(asked, service.model_name());
  return ModelJson(service.model_name(), service.started_unix(), model);
}

}  // namespace

boost::asio::awaitable<void> ListModels(Service& service, const http::Request& request,
                                        http::Responder& responder) {
  return ReplyAtOnce(service, request, responder, ModelList);
}

boost::asio::awaitable<void> ShowModel(Service& service, const http::Request& request,
                                       http::Responder& responder) {
  return ReplyAtOnce(service, request, responder, OneModel);
}

}  // namespace banyan::server::openai
