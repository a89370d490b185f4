#include "text/jinja/iterate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "text/jinja/characters.h"
#include "text/jinja/error.h"
#include "text/jinja/objects.h"
#include "text/jinja/text.h"

namespace banyan::text::jinja {

bool IsIterable(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kString:
    case Kind::kSequence:
    case Kind::kMapping:
    case Kind::kGenerator:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

Iterator::Iterator(Value value) : value_(std::move(value)) {
  if (IsIterable(value_) && !value_.Is(Kind::kLoop)) return;
  Fail(absl::StrCat("'", std::string(TypeName(value_)), "' object is not iterable"));
}

bool Iterator::Next(Value& item) {
  switch (value_.kind()) {
    case Kind::kString: {
      const std::string_view text = value_.text();
      if (at_ == text.size()) return false;
      const std::size_t length = FirstCharacter(text.substr(at_)).length;
      item = Substring(value_, at_, length);
      at_ += length;
      return true;
    }
    case Kind::kSequence: {
      const auto& items = value_.As<Sequence>().items;
      if (at_ == items.size()) return false;
      item = items[at_++];
      return true;
    }
    case Kind::kMapping: {
      const auto& entries = value_.As<Mapping>().entries();
      if (at_ == entries.size()) return false;
      item = entries[at_++].first;
      return true;
    }
    case Kind::kGenerator:
      return value_.As<Generator>().Next(item);
    default:
      return false;
  }
}

std::optional<std::size_t> Iterator::Count() const {
  switch (value_.kind()) {
    case Kind::kString:
      return CountCharacters(value_.text());
    case Kind::kSequence:
      return value_.As<Sequence>().items.size();
    case Kind::kMapping:
      return value_.As<Mapping>().entries().size();
    case Kind::kGenerator:
      return std::nullopt;
    default:
      return 0;
  }
}

std::vector<Value> Collect(Budget& budget, const Value& value) {
  std::vector<Value> items;
  Iterator iterator(value);
  Value item;
  // What is collected is in no object yet.
  struct Held {
    explicit Held(Budget& of) : budget(of) {}
    Held(const Held&) = delete;
    ~Held() { budget.Release(bytes); }
    Budget& budget;
    std::size_t bytes = 0;
  } held(budget);
  while (iterator.Next(item)) {
    budget.Step();
    budget.Hold(sizeof(Value));
    held.bytes += sizeof(Value);
    items.push_back(item);
  }
  return items;
}

}  // namespace banyan::text::jinja
