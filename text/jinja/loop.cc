#include "text/jinja/loop.h"

#include <utility>

#include "text/jinja/compare.h"
#include "text/jinja/error.h"

namespace banyan::text::jinja {

Loop::Loop(Budget& budget, std::size_t held, Value iterable, Condition condition,
           const Statement* of, int recursions, int levels)
    : Object(budget, held),
      statement(of),
      recursion(recursions),
      depth(levels),
      items_(std::move(iterable)),
      condition_(std::move(condition)) {}

bool Loop::Fetch(Value& item) {
  if (ended_) return false;
  if (next_fetched_ < fetched_.size()) {
    item = std::move(fetched_[next_fetched_++]);
    return true;
  }
  while (items_->Next(item)) {
    budget().Step();
    if (!condition_ || condition_(item)) return true;
  }
  item = Value();
  return false;
}

bool Loop::Peek() { return Given(after_) || Fetch(after_); }

bool Loop::Next(Value& item) {
  if (Given(after_)) {
    item = std::exchange(after_, Value());
  } else if (!Fetch(item)) {
    return false;
  }
  ++index_;
  before_ = std::exchange(current_, item);
  return true;
}

void Loop::End() {
  ended_ = true;
  items_.reset();
  condition_ = nullptr;
  fetched_.clear();
  before_ = current_ = after_ = Value();
  last_changed_.reset();
}

std::int64_t Loop::Length() {
  if (!known_length_ && items_ && !condition_ && items_->Count()) {
    known_length_ = static_cast<std::int64_t>(*items_->Count());
  }
  if (!known_length_) {
    std::vector<Value> rest;
    Value item;
    while (Fetch(item)) {
      HoldMore(sizeof(Value));
      rest.push_back(item);
    }
    known_length_ = static_cast<std::int64_t>(rest.size()) + index_ + 1 + (Given(after_) ? 1 : 0);
    fetched_ = std::move(rest);
    next_fetched_ = 0;
  }
  return *known_length_;
}

Value Loop::Attribute(std::string_view name) {
  if (name == "index0") return Value::Integer(index_);
  if (name == "index") return Value::Integer(index_ + 1);
  if (name == "first") return Value::Bool(index_ == 0);
  if (name == "last") return Value::Bool(!Peek());
  if (name == "length") return Value::Integer(Length());
  if (name == "revindex0") return Value::Integer(Length() - index_ - 1);
  if (name == "revindex") return Value::Integer(Length() - index_);
  if (name == "depth0") return Value::Integer(recursion);
  if (name == "depth") return Value::Integer(recursion + 1);
  if (name == "previtem") {
    return index_ == 0 || !Given(before_)
               ? Value::Undefined(Absence::kEmpty, "there is no previous item")
               : before_;
  }
  if (name == "nextitem") {
    return Peek() ? after_ : Value::Undefined(Absence::kEmpty, "there is no next item");
  }
  return Value();
}

Value Loop::Cycle(const Arguments& arguments) const {
  if (!arguments.named.empty() || arguments.positional.empty()) Fail("no items for cycling given");
  return arguments.positional[static_cast<std::size_t>(index_) % arguments.positional.size()];
}

Value Loop::Changed(const Arguments& arguments) {
  std::vector<Value> now(arguments.positional.begin(), arguments.positional.end());
  bool same = last_changed_ && last_changed_->size() == now.size();
  for (std::size_t i = 0; same && i < now.size(); ++i)
    same = Equal(budget(), (*last_changed_)[i], now[i]);
  if (same) return Value::Bool(false);
  if (!ended_) last_changed_ = std::move(now);
  return Value::Bool(true);
}

}  // namespace banyan::text::jinja
