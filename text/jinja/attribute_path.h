// "a.b.0" as filters take it: which part of each item they are about.
#pragma once

#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Evaluator;

class AttributePath {
 public:
  // kMissing, None: the item itself. `otherwise`: instead of what is undefined, unless kMissing.
  AttributePath(Evaluator& evaluator, const Value& path, Value otherwise = Value());

  Value Of(const Value& item) const;

 private:
  Evaluator* evaluator_;
  std::vector<Value> keys_;
  Value otherwise_;
};

// Several paths, "a,b": for each item a list of them.
class AttributePaths {
 public:
  AttributePaths(Evaluator& evaluator, const Value& paths);

  const std::vector<AttributePath>& all() const { return paths_; }

 private:
  std::vector<AttributePath> paths_;
};

}  // namespace banyan::text::jinja
