#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "server/plan/report.h"

namespace banyan::server {
namespace {

namespace json = boost::json;

json::string Text(std::string_view text) {
  const std::string valid = ToValidUtf8(text);
  return json::string(valid.data(), valid.size());
}

json::array Texts(const std::vector<std::string>& texts) {
  json::array list;
  for (const std::string& text : texts) list.push_back(Text(text));
  return list;
}

// null for what is not known or was not asked.
json::value Known(std::int64_t number) {
  return number > 0 ? json::value(number) : json::value(nullptr);
}
json::value Known(std::optional<std::int64_t> number) {
  return number ? json::value(*number) : json::value(nullptr);
}

const char* NameOf(WeightsFrom from) {
  switch (from) {
    case WeightsFrom::kFile:
      return "file";
    case WeightsFrom::kEstimate:
      return "estimate";
    case WeightsFrom::kCommandLine:
      return "command_line";
  }
  return "";
}

json::object ModelJson(const PlanReport& report) {
  const Subject& subject = report.subject;
  const CacheShape& shape = subject.shape;
  json::object model;
  model["source"] = Text(report.source);
  model["name"] = Text(subject.name);
  model["architecture"] = Text(subject.architecture);
  model["attention"] = Text(AttentionOf(subject));
  model["layers"] = shape.layers;
  model["heads"] = Known(subject.heads);
  model["kv_heads"] = shape.kv_heads;
  model["head_dim"] = shape.latent ? json::value(nullptr) : json::value(shape.head_dim);
  model["latent"] = shape.latent
                        ? json::value{{"rank", shape.latent->rank}, {"rope", shape.latent->rope}}
                        : json::value(nullptr);
  json::array windows;
  for (const std::int64_t window : shape.windows) windows.push_back(json::value(window));
  model["windows"] = std::move(windows);
  model["context_length"] = Known(subject.context_length);
  model["parameters"] = Known(subject.parameters);
  model["weight_bytes"] =
      subject.weights ? json::value(subject.weights->bytes) : json::value(nullptr);
  model["weights_from"] =
      subject.weights ? json::value(NameOf(subject.weights->from)) : json::value(nullptr);
  return model;
}

json::value PoolJson(const std::optional<PoolPages>& pool, const Plan& plan,
                     const FormatPlan& format) {
  if (!pool) return nullptr;
  return {{"pages", pool->sessions},
          {"headroom_pages", pool->headroom},
          {"kv_memory", pool->all() * format.page_bytes + format.open_bytes},
          {"tokens", pool->all() * plan.workload.page_size}};
}

json::object FormatJson(const FormatPlan& format, const Plan& plan) {
  json::object out;
  out["bytes_per_token"] = format.bytes_per_token;
  out["multi_head_bytes_per_token"] = Known(format.multi_head_bytes_per_token);
  out["page_bytes"] = format.page_bytes;
  out["open_bytes"] = format.open_bytes;
  out["bounds_bytes"] = format.bounds_bytes;
  out["session"] = nullptr;
  if (plan.workload.context > 0) {
    out["session"] = {{"formula_bytes", format.formula_bytes},
                      {"allocated_bytes", format.allocated_bytes},
                      {"own_bytes", format.own_bytes}};
  }
  out["capacity"] = nullptr;
  if (format.capacity) {
    const Capacity& capacity = *format.capacity;
    json::object fits = {{"pages", capacity.pages},
                         {"bytes", capacity.pages * format.page_bytes +
                                       (capacity.pages > 0 ? format.open_bytes : 0)},
                         {"bounds_bytes", capacity.pages * format.bounds_bytes},
                         {"tokens", capacity.tokens}};
    const bool asked = plan.workload.context > 0;
    fits["sessions"] = asked ? json::value(capacity.sessions) : json::value(nullptr);
    fits["sharing_sessions"] =
        asked ? json::value(capacity.sharing_sessions) : json::value(nullptr);
    out["capacity"] = std::move(fits);
  }
  out["pool"] = PoolJson(plan.apart, plan, format);
  out["sharing_pool"] = PoolJson(plan.sharing, plan, format);
  return out;
}

json::value SessionPagesJson(const Plan& plan) {
  if (plan.workload.context == 0) return nullptr;
  return {{"all", plan.pages.all},
          {"shared", plan.pages.shared},
          {"own", plan.pages.own},
          {"headroom", plan.pages.headroom}};
}

}  // namespace

std::string PlanAsJson(const PlanReport& report) {
  const Plan& plan = report.plan;
  json::object bytes;
  json::object formats;
  for (const FormatPlan& format : plan.formats) {
    bytes[format.name] = format.bytes_per_token;
    formats[format.name] = FormatJson(format, plan);
  }
  json::object whole;
  whole["model"] = ModelJson(report);
  whole["bytes_per_token"] = std::move(bytes);
  whole["page_size"] = plan.workload.page_size;
  whole["context"] = Known(plan.workload.context);
  whole["sessions"] = Known(plan.workload.sessions);
  whole["shared_prefix"] = plan.workload.shared_prefix;
  whole["max_running"] = plan.workload.max_running;
  whole["memory"] = Known(report.memory);
  whole["kv_memory"] = Known(plan.workload.kv_memory);
  whole["session_pages"] = SessionPagesJson(plan);
  whole["formats"] = std::move(formats);
  whole["notes"] = Texts(report.notes);
  whole["explanation"] = Texts(report.explanation);
  return json::serialize(whole);
}

}  // namespace banyan::server
