// Whoever wrote a template, it can neither hang nor fill memory (text/jinja/limits.h).
#include <string>

#include "absl/strings/str_cat.h"
#include "boost/json.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/jinja/render.h"
#include "text/jinja/budget.h"
#include "text/jinja/error.h"
#include "text/jinja/limits.h"
#include "text/jinja/program.h"

namespace banyan::text::jinja {
namespace {

using testing::HasSubstr;

std::string Repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

bool Parses(const std::string& text) { return Program::Parse(text).ok(); }

void ExpectStopped(const std::string& text, const std::string& reason) {
  const auto rendered = Rendered(text);
  EXPECT_EQ(rendered.status().code(), absl::StatusCode::kResourceExhausted) << text;
  EXPECT_THAT(std::string(rendered.status().message()), HasSubstr(reason)) << text;
}

TEST(Bounds, TemplateBytes) {
  const std::string text(kMaxTemplateBytes - 1, 'a');
  EXPECT_TRUE(Parses(text));
  EXPECT_TRUE(Parses(text + "a"));
  EXPECT_FALSE(Parses(text + "aa"));
}

TEST(Bounds, BlocksWithinBlocks) {
  const auto blocks = [](int depth) {
    return Repeated("{% if x %}", depth) + Repeated("{% endif %}", depth);
  };
  EXPECT_TRUE(Parses(blocks(kMaxNesting - 2)));
  EXPECT_TRUE(Parses(blocks(kMaxNesting - 1)));
  EXPECT_FALSE(Parses(blocks(kMaxNesting)));
  EXPECT_FALSE(Parses(blocks(50000)));
}

TEST(Bounds, ExpressionsWithinExpressions) {
  const auto nested = [](const char* open, const char* close, int depth) {
    return "{{ " + Repeated(open, depth) + "1" + Repeated(close, depth) + " }}";
  };
  constexpr int kMost = kMaxNesting - 2;  // in the template, within an expression
  for (const auto& [open, close] : {std::pair{"(", ")"},
                                    {"[", "]"},
                                    {"not ", ""},
                                    {"- ", ""},
                                    {"{1: ", "}"},
                                    {"f(", ")"},
                                    {"a[", "]"}}) {
    EXPECT_TRUE(Parses(nested(open, close, kMost - 1))) << open;
    EXPECT_TRUE(Parses(nested(open, close, kMost))) << open;
    EXPECT_FALSE(Parses(nested(open, close, kMost + 1))) << open;
    EXPECT_FALSE(Parses(nested(open, close, 50000))) << open;
  }
}

TEST(Bounds, OperatorsInARow) {
  const auto row = [](const char* op, int count) { return "{{ 1" + Repeated(op, count) + " }}"; };
  for (const char* op : {" + 1", " and 1", "|abs", ".a", "[0]", "()", " ** 1", " if 1"}) {
    EXPECT_TRUE(Parses(row(op, kMaxNesting - 2))) << op;
    EXPECT_TRUE(Parses(row(op, kMaxNesting - 1))) << op;
    EXPECT_FALSE(Parses(row(op, kMaxNesting))) << op;
    EXPECT_FALSE(Parses(row(op, 50000))) << op;
  }
  // These make no deep tree.
  EXPECT_EQ(*Rendered("{{ 'a'" + Repeated(" ~ 'a'", 5000) + " }}"), std::string(5001, 'a'));
  EXPECT_EQ(*Rendered("{% if 0 %}" + Repeated("{% elif 0 %}", 5000) + "{% else %}a{% endif %}"),
            "a");
}

TEST(Bounds, LevelsOfEvaluation) {
  const auto calls = [](int times) {
    return absl::StrCat("{% macro f(k) %}{% if k > 0 %}{{ f(k - 1) }}{% else %}end{% endif %}",
                        "{% endmacro %}{{ f(", times, ") }}");
  };
  // The template, then four for each call: expression, call, body, branch; the last condition one.
  constexpr int kMost = (kMaxDepth - 1) / 4 - 1;
  EXPECT_EQ(*Rendered(calls(kMost - 1)), "end");
  EXPECT_EQ(*Rendered(calls(kMost)), "end");
  ExpectStopped(calls(kMost + 1), "levels deep");
  ExpectStopped("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "levels deep");
  ExpectStopped("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "levels deep");
  ExpectStopped("{% macro f() %}{% call f() %}{% endcall %}{{ caller }}{% endmacro %}{{ f() }}",
                "levels deep");
}

TEST(Bounds, ValuesWithinValues) {
  const auto nested = [](int depth) {
    return absl::StrCat("{% set ns = namespace(x=1) %}{% for i in range(", depth,
                        ") %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x|string|length }}");
  };
  EXPECT_EQ(*Rendered(nested(kMaxValueDepth - 1)), absl::StrCat(2 * (kMaxValueDepth - 1) + 1));
  EXPECT_EQ(*Rendered(nested(kMaxValueDepth)), absl::StrCat(2 * kMaxValueDepth + 1));
  ExpectStopped(nested(kMaxValueDepth + 1), "nests values");
  for (const char* grow : {"{'a': ns.x}", "(ns.x,)", "ns.x|map('string')", "ns.x|select",
                           "[ns.x].copy", "{1: ns.x}.items()", "[ns.x]|groupby('y')"}) {
    ExpectStopped(absl::StrCat("{% set ns = namespace(x=[1]) %}{% for i in range(300) %}",
                               "{% set ns.x = ", grow, " %}{% endfor %}"),
                  "nests values");
  }
}

TEST(Bounds, TheRequestsValuesWithinValues) {
  const auto render = [](int depth) {
    boost::json::value value = 1;
    for (int i = 0; i < depth; ++i) value = boost::json::array{value};
    Variables variables;
    variables.json.emplace_back("x", &value);
    return Rendered("{{ x|tojson|length }}", variables);
  };
  EXPECT_TRUE(render(kMaxValueDepth - 2).ok());
  EXPECT_TRUE(render(kMaxValueDepth - 1).ok());
  EXPECT_EQ(render(kMaxValueDepth).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Bounds, StepsAndBytesAreCountedExactly) {
  Budget budget;
  budget.Step(kMaxSteps - 1);
  budget.Step();
  EXPECT_THROW(budget.Step(), Error);
  Budget memory;
  memory.Hold(kMaxHeldBytes - 1);
  memory.Hold(1);
  EXPECT_THROW(memory.Hold(1), Error);
  memory.Release(2);
  memory.Hold(2);
  EXPECT_EQ(memory.held(), kMaxHeldBytes);
}

TEST(Bounds, OneString) {
  const auto text = [](std::size_t size) {
    return absl::StrCat("{{ ('x' * ", size, ")|length }}");
  };
  EXPECT_EQ(*Rendered(text(kMaxStringBytes - 1)), absl::StrCat(kMaxStringBytes - 1));
  EXPECT_EQ(*Rendered(text(kMaxStringBytes)), absl::StrCat(kMaxStringBytes));
  ExpectStopped(text(kMaxStringBytes + 1), "a string of more than");
}

TEST(Bounds, TheOutput) {
  const auto text = [](std::size_t size) {
    return absl::StrCat("{% set half = 'x' * ", kMaxStringBytes / 2, " %}{{ half }}{{ 'y' * ",
                        size - kMaxStringBytes / 2, " }}");
  };
  EXPECT_EQ(Rendered(text(kMaxStringBytes - 1))->size(), kMaxStringBytes - 1);
  EXPECT_EQ(Rendered(text(kMaxStringBytes))->size(), kMaxStringBytes);
  ExpectStopped(text(kMaxStringBytes + 1), "a string of more than");
}

TEST(Bounds, Ranges) {
  EXPECT_EQ(*Rendered("{{ range(99999)|length }}"), "99999");
  EXPECT_EQ(*Rendered("{{ range(100000)|length }}"), "100000");
  EXPECT_EQ(Rendered("{{ range(100001)|length }}").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Rendered("{{ range(-9223372036854775807, 9223372036854775807) }}").ok());
}

TEST(Bounds, WidthsOfFormats) {
  for (const char* text : {"{{ '%Wd' % 1 }}", "{{ '{:W}'.format(1) }}", "{{ 'a\nb'|indent(W) }}",
                           "{{ [1]|tojson(indent=W) }}", "{{ 'a\tb'.expandtabs(W) }}"}) {
    const auto with = [&](int width) {
      std::string made = text;
      made.replace(made.find('W'), 1, absl::StrCat(width));
      return Rendered(made);
    };
    EXPECT_TRUE(with(9999).ok()) << text;
    EXPECT_TRUE(with(10000).ok()) << text;
    EXPECT_EQ(with(10001).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Bounds, WhateverATemplateRepeatsItIsStopped) {
  const std::string two = "{% for i in range(100000) %}{% for j in range(100000) %}";
  const std::string ends = "{% endfor %}{% endfor %}";
  ExpectStopped(two + ends, "steps");
  ExpectStopped(two + "{{ i }}" + ends, "");
  ExpectStopped(
      "{% set ns = namespace(x='ab') %}{% for i in range(100) %}"
      "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
      "a string of more than");
  ExpectStopped(
      "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}"
      "{% set ns.x = ns.x + ns.x %}{% endfor %}",
      "");
  ExpectStopped(
      "{% set x = range(100000)|list %}{% set ns = namespace(x=[]) %}"
      "{% for i in range(100) %}{% set ns.x = ns.x + [x + x] %}{% endfor %}",
      "holds more than");
  for (const char* expression : {"'x' * 1000000000",
                                 "[1] * 1000000000",

                                 "'ab' * 4611686018427387904",
                                 "('a' * 1000000)|replace('', 'b' * 1000000)",
                                 "('a' * 4000000)|replace('a', 'bbbbbbbb')",
                                 "(range(100000)|join('x' * 1000000))",
                                 "'a'.center(10000000000)",
                                 "'a'|center(10000000000)",
                                 "'a'.zfill(10000000000)",
                                 "'x'.join(['a' * 1000000] * 10000)",
                                 "('%s' * 100000) % (('a' * 100000,) * 100000)",
                                 "(['a' * 1000000] * 100000)|string",
                                 "(['a' * 1000000] * 100000)|tojson",
                                 "(['a' * 1000000] * 100000)|sum(start='')",
                                 "('\\n' * 1000000)|indent(1000, blank=true)",
                                 "('a' * 16000000).split('a')",
                                 "('a ' * 8000000)|list",
                                 "(('a' * 16000000)|list)|unique|list",
                                 "range(100000)|map('string')|unique|list",
                                 "range(100000)|select('in', range(99000, 100000))|list",
                                 "('<' * 16000000)|e",
                                 "('Σ' * 1000000)|lower"}) {
    const auto rendered = Rendered(absl::StrCat("{{ (", expression, ")|length }}"));
    EXPECT_FALSE(rendered.ok()) << expression;
  }
}

// A namespace can be part of itself.
TEST(Bounds, CyclesEnd) {
  EXPECT_EQ(
      *Rendered("{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.l = [ns] %}"
                "{{ ns.self.self is defined }}{{ ns == ns.self }}{{ ns.l|string|length > 0 }}"),
      "TrueTrueTrue");
  EXPECT_TRUE(Rendered("{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}"
                       "{{ loop.changed(loop) }}{% endfor %}{{ ns.l.changed(ns.l) }}")
                  .ok());
  EXPECT_TRUE(Rendered("{% set ns = namespace() %}{% set ns.g = [ns]|map(attribute='g')|unique %}"
                       "{% for x in ns.g %}{% endfor %}{% macro m() %}{{ ns }}{% endmacro %}"
                       "{% set ns.m = m %}")
                  .ok());
}

TEST(Bounds, AFailureWithinLeavesNothingBehind) {
  for (const char* text :
       {"{% for i in [1] recursive %}{{ loop([[1]]) }}{{ x.y }}{% endfor %}",
        "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{% set a = [1] %}{{ x.y }}{% "
        "endcall %}",
        "{% set b %}{% for i in range(3) if x.y %}{% endfor %}{% endset %}",
        "{% filter upper %}{% with a = [1] %}{{ x.y }}{% endwith %}{% endfilter %}"}) {
    EXPECT_FALSE(Rendered(text).ok());
  }
}

}  // namespace
}  // namespace banyan::text::jinja
