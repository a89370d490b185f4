#include "text/jinja/attribute_path.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/literal.h"
#include "text/jinja/text.h"

namespace banyan::text::jinja {
namespace {

// The parts of a string between `separator`s.
std::vector<Value> Parts(Budget& budget, const Value& string, char separator) {
  std::vector<Value> parts;
  const std::string_view text = string.text();
  budget.Step(1 + text.size());
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (parts.size() == kMaxPathKeys)
      Fail(absl::StrCat("a path of more than ", kMaxPathKeys, " keys"));
    parts.push_back(Substring(string, begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

bool IsAllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

AttributePath::AttributePath(Evaluator& evaluator, const Value& path, Value otherwise)
    : evaluator_(&evaluator), otherwise_(std::move(otherwise)) {
  if (!Given(path) || path.Is(Kind::kNone)) return;
  if (!path.IsString()) {
    keys_.push_back(path);
    return;
  }
  for (const Value& part : Parts(evaluator.budget(), path, '.')) {
    const auto index = IsAllDigits(part.text()) ? ParseInteger(part.text(), 10) : std::nullopt;
    keys_.push_back(index ? Value::Integer(*index) : part);
  }
}

Value AttributePath::Of(const Value& item) const {
  Value value = item;
  for (const Value& key : keys_) {
    value = evaluator_->Item(value, key);
    if (value.Is(Kind::kUndefined) && Given(otherwise_)) value = otherwise_;
  }
  return value;
}

AttributePaths::AttributePaths(Evaluator& evaluator, const Value& paths) {
  if (!paths.IsString()) {
    paths_.emplace_back(evaluator, paths);
    return;
  }
  for (const Value& part : Parts(evaluator.budget(), paths, ',')) {
    paths_.emplace_back(evaluator, part);
  }
}

}  // namespace banyan::text::jinja
