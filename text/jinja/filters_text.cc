// Filters of strings.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/characters.h"
#include "text/jinja/compare.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/iterate.h"
#include "text/jinja/json.h"
#include "text/jinja/operators.h"
#include "text/jinja/strings.h"

namespace banyan::text::jinja {
namespace {

Value Plain(Evaluator& evaluator, const Value& value) {  // str(value)
  return ToText(evaluator.budget(), value).AsMarkup(false);
}

Value String(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("string");
  return ToText(evaluator.budget(), value);
}

Value UpperFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("upper");
  return InCase(evaluator.budget(), ToText(evaluator.budget(), value), Casing::kUpper);
}

Value LowerFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("lower");
  return InCase(evaluator.budget(), ToText(evaluator.budget(), value), Casing::kLower);
}

Value Capitalize(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("capitalize");
  return InCase(evaluator.budget(), ToText(evaluator.budget(), value), Casing::kCapitalized);
}

// Words begin where jinja2 says: behind white space, hyphens and opening brackets.
Value TitleFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("title");
  Budget& budget = evaluator.budget();
  const Value text = ToText(budget, value);
  Writer writer(budget);
  const auto is_border = [](char32_t c) {
    return IsSpace(c) || (c < 0x80 && std::string_view("-({[<").find(static_cast<char>(c)) !=
                                          std::string_view::npos);
  };
  const std::string_view bytes = text.text();
  budget.Read(bytes.size());
  for (std::size_t begin = 0; begin < bytes.size();) {
    budget.Step();
    const Character first = FirstCharacter(bytes.substr(begin));
    std::size_t end = begin + first.length;
    const bool border = is_border(first.code);
    while (end < bytes.size()) {
      const Character next = FirstCharacter(bytes.substr(end));
      if (is_border(next.code) != border) break;
      end += next.length;
    }
    writer.Write(InCase(budget, Substring(text, begin, first.length), Casing::kUpper));
    writer.Write(InCase(budget, Substring(text, begin + first.length, end - begin - first.length),
                        Casing::kLower));
    begin = end;
  }
  return writer.Finish();
}

Value Trim(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [chars] = arguments.Bind<1>("trim", {"chars"});
  return Strip(evaluator.budget(), ToText(evaluator.budget(), value), chars, Ends::kBoth);
}

Value Replace(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [from, to, count] = arguments.Bind<3>("replace", {"old", "new", "count"}, 2);
  std::int64_t most = -1;
  if (Given(count) && !count.Is(Kind::kNone)) {
    if (!count.IsIntegral()) Fail("replace: count must be an integer");
    most = count.integer();
  }
  return ReplaceAll(evaluator.budget(), Plain(evaluator, value), Plain(evaluator, from),
                    Plain(evaluator, to), most);
}

Value JoinFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [separator, attribute] = arguments.Bind<2>("join", {"d", "attribute"});
  const Value between = Given(separator) ? Plain(evaluator, separator) : Value::Static("");
  const AttributePath path(evaluator, attribute);
  Writer writer(evaluator.budget());
  Iterator items(value);
  Value item;
  for (bool first = true; items.Next(item); first = false) {
    evaluator.budget().Step();
    if (!first) writer.Write(between);
    WriteText(writer, path.Of(item));
  }
  return writer.Finish();
}

Value Indent(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [width, first, blank] = arguments.Bind<3>("indent", {"width", "first", "blank"});
  Budget& budget = evaluator.budget();
  Value indentation = Value::Static("    ");
  if (width.IsString()) {
    indentation = width;
  } else if (width.IsIntegral()) {
    if (width.integer() > kMaxFormatWidth) Fail("indent: the width is too large");
    const std::int64_t size = std::max<std::int64_t>(width.integer(), 0);
    indentation = MakeString(budget, std::string(static_cast<std::size_t>(size), ' '));
  } else if (Given(width)) {
    Fail("indent: width must be a number or a string");
  }
  if (!value.IsString()) return Add(evaluator.objects(), value, Value::Static("\n"));  // fails
  const Value whole = Concatenate(budget, value, Value::Static("\n"));
  Writer writer(budget);
  bool is_first = true;
  Source line_break = Source::kTemplate;  // whose the last one was
  for (const Value& whole_line : Lines(budget, whole, true)) {
    const Value line = Lines(budget, whole_line, false).front();
    if (!is_first) writer.Write("\n", line_break);
    const bool indented = is_first ? Truth(first) : Truth(blank) || !line.text().empty();
    if (indented) writer.Write(indentation);
    writer.Write(line);
    is_first = false;
    line_break = SourceAt(whole_line, whole_line.text().size() - 1);
  }
  return writer.Finish().AsMarkup(value.is_markup());
}

Value FormatFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    Fail("can't handle positional and keyword arguments at the same time");
  }
  Value values;
  if (arguments.named.empty()) {
    std::vector<Value> items(arguments.positional.begin(), arguments.positional.end());
    values = evaluator.objects().List(std::move(items), Flavor::kTuple);
  } else {
    const Ref<Mapping> mapping = evaluator.objects().NewMapping();
    for (const auto& [key, item] : arguments.named) mapping->Set(key, item);
    values = AsValue(mapping);
  }
  return FormatPercent(evaluator, ToText(evaluator.budget(), value), values);
}

Value Safe(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("safe");
  return ToText(evaluator.budget(), value).AsMarkup(true);
}

Value EscapeFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("escape");
  return Escape(evaluator.budget(), value);
}

Value ForceEscape(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("forceescape");
  return Escape(evaluator.budget(), Plain(evaluator, value));
}

Value ToJsonFilter(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  return ToJson(evaluator.budget(), value, arguments);
}

Value Center(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [width] = arguments.Bind<1>("center", {"width"});
  if (Given(width) && !width.IsIntegral()) Fail("center: width must be an integer");
  const std::int64_t size = Given(width) ? width.integer() : 80;
  return Justify(evaluator.budget(), ToText(evaluator.budget(), value), size, Value::Static(" "),
                 Side::kCenter);
}

// Cut to `length` characters, `end` included; at a space unless `killwords`.
Value Truncate(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const auto [length, killwords, end, leeway] =
      arguments.Bind<4>("truncate", {"length", "killwords", "end", "leeway"});
  Budget& budget = evaluator.budget();
  const std::int64_t most = length.IsIntegral() ? length.integer() : 255;
  const Value tail = end.IsString() ? end : Value::Static("...");
  const std::int64_t extra = leeway.IsIntegral() ? leeway.integer() : 5;
  budget.Touch(tail.text().size());
  const auto tail_size = static_cast<std::int64_t>(CountCharacters(tail.text()));
  if (most < tail_size || most > static_cast<std::int64_t>(kMaxStringBytes) || extra < 0) {
    Fail("truncate: the length does not fit");
  }
  if (!value.IsString()) Fail("truncate needs a string");
  budget.Touch(value.text().size());
  if (static_cast<std::int64_t>(CountCharacters(value.text())) - most <= extra) return value;
  Value cut = Substring(value, 0, ByteOf(value.text(), static_cast<std::size_t>(most - tail_size)));
  if (!Truth(killwords))
    cut = Substring(cut, 0, std::min(cut.text().rfind(' '), cut.text().size()));
  return Concatenate(budget, cut, tail);
}

Value WordCount(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  arguments.ExpectNone("wordcount");
  const Value text = ToText(evaluator.budget(), value);
  evaluator.budget().Read(text.text().size());
  std::int64_t words = 0;
  bool within = false;
  for (std::string_view rest = text.text(); !rest.empty();) {
    const Character c = FirstCharacter(rest);
    const bool word = c.code == '_' || IsAlphabetic(c.code) || IsNumeric(c.code);
    words += word && !within ? 1 : 0;
    within = word;
    rest.remove_prefix(c.length);
  }
  return Value::Integer(words);
}

constexpr std::array<Filter, 18> kRows = {{
    {"string", String},
    {"upper", UpperFilter},
    {"lower", LowerFilter},
    {"capitalize", Capitalize},
    {"title", TitleFilter},
    {"trim", Trim},
    {"replace", Replace},
    {"join", JoinFilter},
    {"indent", Indent},
    {"format", FormatFilter},
    {"safe", Safe},
    {"escape", EscapeFilter},
    {"e", EscapeFilter},
    {"forceescape", ForceEscape},
    {"tojson", ToJsonFilter},
    {"center", Center},
    {"truncate", Truncate},
    {"wordcount", WordCount},
}};

}  // namespace

std::span<const Filter> TextFilters() { return kRows; }

}  // namespace banyan::text::jinja
