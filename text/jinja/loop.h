// The state of a for loop, which the template sees as `loop`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/arguments.h"
#include "text/jinja/iterate.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

struct Statement;

// Looks one item ahead only when asked to, as jinja2 does: conditions of later items may depend on
// what the body does.
class Loop final : public Object {
 public:
  using Condition = std::function<bool(const Value&)>;

  // `recursions`: how many loops of the same statement are around it. `condition` may be empty.
  Loop(Budget& budget, std::size_t held, Value iterable, Condition condition, const Statement* of,
       int recursions, int levels);

  bool Next(Value& item);
  // No more is taken or kept. A template may have kept the loop.
  void End();

  // kMissing: there is no such attribute.
  Value Attribute(std::string_view name);
  Value Cycle(const Arguments& arguments) const;
  Value Changed(const Arguments& arguments);

  const Statement* const statement;
  const int recursion;
  const int depth;  // as of a list, see DepthOf

 private:
  bool Fetch(Value& item);
  bool Peek();
  std::int64_t Length();

  std::optional<Iterator> items_;
  Condition condition_;
  std::optional<std::int64_t> known_length_;
  std::vector<Value> fetched_;  // to know the length: items not yet taken, from next_fetched_ on
  std::size_t next_fetched_ = 0;
  std::int64_t index_ = -1;
  Value before_, current_, after_;
  std::optional<std::vector<Value>> last_changed_;
  bool ended_ = false;
};

}  // namespace banyan::text::jinja
