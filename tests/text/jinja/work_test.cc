// Whatever passes over bytes costs steps: else a loop around it could run for hours within the
// bounds.
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "boost/json.hpp"
#include "gtest/gtest.h"
#include "text/jinja/budget.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/functions.h"
#include "text/jinja/json.h"
#include "text/jinja/objects.h"
#include "text/jinja/parser.h"

namespace banyan::text::jinja {
namespace {

constexpr std::size_t kBytes = 1 << 18;

// What one rendering costs, with these strings as variables: `a` and `b`, which are equal and lie
// apart, `blank` and `digits`.
std::uint64_t StepsOf(std::string_view text) {
  const boost::json::object variables = {{"a", std::string(kBytes, 'a')},
                                         {"b", std::string(kBytes, 'a')},
                                         {"blank", std::string(kBytes, ' ')},
                                         {"digits", std::string(kBytes, '1')},
                                         {"special", std::string(kBytes, '<')}};
  const Template parsed = ParseTemplate(text);
  Budget budget;
  Objects objects(budget);
  std::vector<Value> bound;
  for (const std::string& name : parsed.names) {
    const boost::json::value* value = variables.if_contains(name);
    const auto function = FunctionNamed(name);
    bound.push_back(value != nullptr ? FromJson(objects, *value)
                    : function       ? Value::Function(*function)
                                     : Value());
  }
  Evaluator(parsed, objects, std::move(bound), 0).Render();
  return budget.steps();
}

TEST(Work, WhatPassesOverBytesCostsSteps) {
  for (const char* expression :
       {"[a] == [b]",
        "a in [b]",
        "[b].count(a)",
        "[b].index(a)",
        "a is sameas b",
        "(a, 1) < (b, 2)",
        "[a, b]|sort(case_sensitive=true) is defined",
        "[a, b]|unique(case_sensitive=true)|list is defined",
        "[a, b]|max(case_sensitive=true) is defined",
        "[{'k': a}, {'k': b}]|groupby('k', case_sensitive=true) is defined",
        "a in {'x': 1}",
        "{'x': 1}[a] is defined",
        "blank.strip()",
        "blank|trim",
        "'b'.strip(a)",
        "a.ljust(1) is defined",
        "a|center(1) is defined",
        "digits|int",
        "digits|float",
        "a.istitle()",
        "a is lower",
        "a.islower()",
        "a|wordcount",
        "a.startswith(b)",
        "a.endswith(b)",
        "a.removeprefix(b)",
        "a.removesuffix(b)",
        "'x'|truncate(1000000, true, a)",
        "a.split() is defined",
        "a.rsplit(none, 1) is defined",
        "special|e is defined",
        "special|tojson is defined",
        "[special]|string is defined",
        "'b' in a",
        "a.find('b')",
        "a.rfind('b')",
        "a.count('b')",
        "a.replace('b', 'c') is defined",
        "a.partition('b') is defined",
        "a.rpartition('b') is defined",
        "a[5] is defined",
        "a[5:] is defined",
        "a[::-1] is defined",
        "range(20000) is defined",
        "range(20000)|list|slice(1) is defined"}) {
    EXPECT_GE(StepsOf(absl::StrCat("{% if ", expression, " %}{% endif %}")), kBytes / kBytesPerStep)
        << expression;
  }
}

// A table of names is searched one by one.
TEST(Work, LookingForANameAmongManyCostsSteps) {
  std::string many;
  for (int i = 0; i < 1600; ++i) absl::StrAppend(&many, "{% set a", i, " = 1 %}");
  const auto looked_up = [&](int times) {
    return StepsOf(absl::StrCat("{% for i in [1] %}", many, "{% for j in range(", times,
                                ") %}{{ missing }}{% endfor %}{% endfor %}"));
  };
  EXPECT_GE(looked_up(100) - looked_up(0), 100u * 1600 / 16);
}

}  // namespace
}  // namespace banyan::text::jinja
