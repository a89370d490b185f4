// The language, thing by thing, against goldens of jinja2
// (tests/text/oracle/make_template_goldens.py names how they are made).
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "boost/json.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/jinja/render.h"
#include "text/jinja/program.h"

namespace banyan::text::jinja {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::StartsWith;

std::string Text(const json::value& value) { return json::value_to<std::string>(value); }

const json::value& Goldens() {
  static const json::value& goldens = *[] {
    const char* data = std::getenv("BANYAN_TESTDATA");
    std::ifstream stream(std::string(data == nullptr ? "tests" : data) +
                         "/text/template_goldens.json");
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    return new json::value(json::parse(text));
  }();
  return goldens;
}

absl::StatusOr<std::string> RenderGolden(const std::string& text) {
  Variables variables = {.now = Goldens().at("now").as_int64()};
  for (const auto& [name, value] : Goldens().at("variables").as_object()) {
    variables.json.emplace_back(std::string_view(name), &value);
  }
  return Rendered(text, variables);
}

TEST(Language, IsAsJinja2HasIt) {
  std::size_t compared = 0;
  for (const auto& [theme, rows] : Goldens().at("themes").as_object()) {
    SCOPED_TRACE(std::string_view(theme));
    for (const json::value& row : rows.as_array()) {
      const std::string text = Text(row.at("template"));
      SCOPED_TRACE(text);
      const auto rendered = RenderGolden(text);
      const std::string message(rendered.status().message());
      ++compared;
      if (const json::value* wanted = row.as_object().if_contains("text")) {
        EXPECT_TRUE(rendered.ok()) << rendered.status();
        EXPECT_EQ(rendered.value_or("an error"), Text(*wanted));
        continue;
      }
      EXPECT_EQ(rendered.status().code(), absl::StatusCode::kInvalidArgument);
      if (const json::value* raised = row.as_object().if_contains("raised")) {
        EXPECT_EQ(message, Text(*raised));
      } else if (row.as_object().contains("failed")) {
        EXPECT_THAT(message, StartsWith("the chat template failed at line 1: "));
      }
    }
  }
  std::cout << "compared " << compared << " templates\n";
  EXPECT_GE(compared, 400u);
}

// A template that jinja2 does not compile is refused before it is rendered; an unknown filter or
// test only once it is reached, so that a template may offer more than it needs.
TEST(Language, WhatIsNoTemplateIsRefusedWithItsLine) {
  for (const json::value& row : Goldens().at("themes").at("no templates").as_array()) {
    const std::string text = Text(row.at("template"));
    const auto program = Program::Parse("a\nb " + text);
    EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(program.status().message()), StartsWith("line 2: ")) << text;
  }
  EXPECT_TRUE(Program::Parse("{% if false %}{{ 1|nofilter }}{{ 1 is notest }}{% endif %}").ok());
}

TEST(Language, WhatNeedsOtherTemplatesIsRefusedByName) {
  for (const char* tag : {"include 'a'", "import 'a' as b", "from 'a' import b", "extends 'a'",
                          "block b", "autoescape true"}) {
    const auto program = Program::Parse(std::string("{% ") + tag + " %}");
    EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string name = std::string(tag).substr(0, std::string_view(tag).find(' '));
    EXPECT_THAT(std::string(program.status().message()), HasSubstr("'" + name + "'"));
  }
}

TEST(Language, ErrorsNameTheLineAndTheReason) {
  const auto message = [](const std::string& text) {
    return std::string(RenderGolden(text).status().message());
  };
  EXPECT_EQ(message("\n\n{{ x.y }}"), "the chat template failed at line 3: 'x' is undefined");
  EXPECT_EQ(message("{% if yes %}\n{{ d.q.r }}{% endif %}"),
            "the chat template failed at line 2: 'dict object' has no attribute 'q'");
  EXPECT_EQ(message("{{ none.a.b }}"),
            "the chat template failed at line 1: 'None' has no attribute 'a'");
  EXPECT_EQ(message("{% macro m(a) %}{{ a + 1 }}{% endmacro %}\n{{ m() }}"),
            "the chat template failed at line 1: parameter 'a' was not provided");
  EXPECT_EQ(
      message("{{ 1 + 'a' }}"),
      "the chat template failed at line 1: unsupported operand type(s) for +: 'int' and 'str'");
  EXPECT_EQ(message("{{ raise_exception('Roles must alternate.') }}"), "Roles must alternate.");
}

TEST(Language, IntegersBeyond63BitsAreRefusedNotWrong) {
  const auto message = [](const std::string& text) {
    return std::string(RenderGolden(text).status().message());
  };
  EXPECT_EQ(*RenderGolden("{{ 9223372036854775806 + 1 }}"), "9223372036854775807");
  for (const char* text :
       {"{{ 9223372036854775807 + 1 }}", "{{ 9223372036854775807 * 2 }}", "{{ 2 ** 63 }}",
        "{{ -9223372036854775807 - 2 }}", "{{ big + 1 }}", "{{ big * 2 }}"}) {
    EXPECT_THAT(message(text), HasSubstr("too large")) << text;
  }
  EXPECT_THAT(message("{{ 9223372036854775808 }}"), HasSubstr("too large"));
}

}  // namespace
}  // namespace banyan::text::jinja
