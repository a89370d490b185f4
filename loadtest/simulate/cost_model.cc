#include "loadtest/simulate/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <boost/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace banyan::loadtest {
namespace {

constexpr std::array<std::pair<const char*, double CostModel::*>, 6> kFields = {{
    {"step", &CostModel::step},
    {"prompt_token", &CostModel::prompt_token},
    {"prompt_context", &CostModel::prompt_context},
    {"decode_token", &CostModel::decode_token},
    {"decode_context", &CostModel::decode_context},
    {"request", &CostModel::request},
}};

// A day: no step takes so long, and sums stay far from the end of a Tick.
constexpr double kMost = 86400e9;

}  // namespace

// A sequence of one token after which one is sampled is a row that decodes: the last token of a
// prompt costs the same.
Tick StepTime(const CostModel& cost, const Batch& batch) {
  if (batch.empty()) return Tick(0);
  double time = cost.step;
  for (const Sequence& sequence : batch.sequences) {
    const auto tokens = static_cast<double>(sequence.tokens.size());
    const auto first = static_cast<double>(sequence.first_position);
    if (sequence.tokens.size() == 1 && sequence.logits != Logits::kNone) {
      time += cost.decode_token + cost.decode_context * first;
    } else {
      // Token i of the chunk has first + i before it.
      const double before = tokens * first + tokens * (tokens - 1) / 2;
      time += cost.prompt_token * tokens + cost.prompt_context * before;
    }
  }
  return Tick(std::llround(std::min(time, kMost)));
}

std::string Json(const CostModel& cost) {
  boost::json::object object;
  for (const auto& [name, field] : kFields) object[name] = cost.*field;
  return boost::json::serialize(object);
}

absl::StatusOr<CostModel> ParseCostModel(std::string_view json) {
  boost::system::error_code error;
  const boost::json::value value =
      boost::json::parse(boost::json::string_view(json.data(), json.size()), error);
  if (error || !value.is_object()) {
    return absl::InvalidArgumentError("a cost model is a JSON object of numbers");
  }
  CostModel cost;
  for (const auto& member : value.get_object()) {
    const std::string name(member.key());
    const auto* const field = std::find_if(kFields.begin(), kFields.end(),
                                           [&](const auto& at) { return name == at.first; });
    if (field == kFields.end()) {
      return absl::InvalidArgumentError(absl::StrCat("a cost model has no '", name, "'"));
    }
    const boost::json::value& number = member.value();
    if (!number.is_number()) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' of a cost model is no number"));
    }
    const auto nanoseconds = number.to_number<double>();
    if (!(nanoseconds >= 0 && nanoseconds <= kMost)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' of a cost model is not from 0 to a day, in nanoseconds"));
    }
    cost.*(field->second) = nanoseconds;
  }
  return cost;
}

}  // namespace banyan::loadtest
