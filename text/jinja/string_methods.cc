#include "text/jinja/string_methods.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "text/jinja/characters.h"
#include "text/jinja/compare.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/format.h"
#include "text/jinja/iterate.h"
#include "text/jinja/search.h"
#include "text/jinja/strings.h"

namespace banyan::text::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

const Value& RequireString(const Value& value, std::string_view function) {
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (value.IsString()) return value;
  Fail(absl::StrCat(std::string(function), ": expected str, not ", std::string(TypeName(value))));
}

std::int64_t IntegerOr(const Value& value, std::int64_t fallback, std::string_view function) {
  if (!Given(value) || value.Is(Kind::kNone)) return fallback;
  if (value.Is(Kind::kUndefined)) FailUndefined(value);
  if (value.IsIntegral()) return value.integer();
  Fail(absl::StrCat(std::string(function), ": expected an integer"));
}

template <Casing casing>
Value Cased(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("the method");
  return InCase(evaluator.budget(), self, casing);
}

template <Ends ends>
Value StripMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [chars] = arguments.Bind<1>("strip", {"chars"});
  return Strip(evaluator.budget(), self, chars, ends);
}

Value SplitMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [separator, most] = arguments.Bind<2>("split", {"sep", "maxsplit"});
  return evaluator.objects().List(
      Split(evaluator.budget(), self, separator, IntegerOr(most, -1, "split")));
}

Value RightSplit(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [separator, most] = arguments.Bind<2>("rsplit", {"sep", "maxsplit"});
  return evaluator.objects().List(
      SplitFromRight(evaluator.budget(), self, separator, IntegerOr(most, -1, "rsplit")));
}

Value SplitLines(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [keep] = arguments.Bind<1>("splitlines", {"keepends"});
  return evaluator.objects().List(Lines(evaluator.budget(), self, Truth(keep)));
}

// The characters [start, end) that find, count, startswith look at.
struct Window {
  bool exists = true;
  std::size_t begin = 0;  // bytes
  std::size_t end = 0;
};

Window WindowOf(Budget& budget, const Value& self, const Value& start, const Value& end) {
  const std::string_view text = self.text();
  Window window = {.end = text.size()};
  if (!Given(start) && !Given(end)) return window;
  budget.Touch(text.size());
  const auto size = static_cast<std::int64_t>(CountCharacters(text));
  const auto index = [&](const Value& value, std::int64_t fallback) {
    const std::int64_t at = IntegerOr(value, fallback, "find");
    return at < 0 ? std::max<std::int64_t>(at + size, 0) : at;
  };
  const std::int64_t first = index(start, 0);
  const std::int64_t last = std::min(index(end, size), size);
  window.exists = first <= last;
  window.begin = ByteOf(text, static_cast<std::size_t>(std::min(first, size)));
  window.end = ByteOf(text, static_cast<std::size_t>(last));
  return window;
}

template <bool at_end>
Value StartsOrEndsWith(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  constexpr std::string_view kName = at_end ? "endswith" : "startswith";
  const auto [wanted, start, end] = arguments.Bind<3>(kName, {"prefix", "start", "end"}, 1);
  const Window window = WindowOf(evaluator.budget(), self, start, end);
  const std::string_view text =
      window.exists ? self.text().substr(window.begin, window.end - window.begin) : "";
  const auto matches = [&](const Value& affix) {
    const std::string_view part = RequireString(affix, kName).text();
    evaluator.budget().Touch(std::min(part.size(), text.size()));
    return window.exists && (at_end ? text.ends_with(part) : text.starts_with(part));
  };
  if (!wanted.Is(Kind::kSequence) || !wanted.As<Sequence>().IsTuple()) {
    return Value::Bool(matches(wanted));
  }
  const auto& any = wanted.As<Sequence>().items;
  evaluator.budget().Step(any.size());
  return Value::Bool(std::any_of(any.begin(), any.end(), matches));
}

// -1: not there.
template <bool last>
std::int64_t FindIn(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [wanted, start, end] = arguments.Bind<3>("find", {"sub", "start", "end"}, 1);
  const Window window = WindowOf(evaluator.budget(), self, start, end);
  if (!window.exists) return -1;
  evaluator.budget().Read(self.text().size());
  const std::string_view text = self.text().substr(0, window.end);
  const std::string_view part = RequireString(wanted, "find").text();
  const std::size_t found = last
                                ? BackwardSearch(evaluator.budget(), text, part).Before(text.size())
                                : FindText(text, part, window.begin);
  if (found == kNone || found < window.begin) return -1;
  return static_cast<std::int64_t>(CountCharacters(text.substr(0, found)));
}

template <bool last>
Value FindMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return Value::Integer(FindIn<last>(evaluator, self, arguments));
}

template <bool last>
Value IndexMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const std::int64_t found = FindIn<last>(evaluator, self, arguments);
  if (found < 0) Fail("substring not found");
  return Value::Integer(found);
}

Value Count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [wanted, start, end] = arguments.Bind<3>("count", {"sub", "start", "end"}, 1);
  const Window window = WindowOf(evaluator.budget(), self, start, end);
  evaluator.budget().Read(self.text().size());
  const std::string_view part = RequireString(wanted, "count").text();
  if (!window.exists) return Value::Integer(0);
  const std::string_view text = self.text().substr(window.begin, window.end - window.begin);
  if (part.empty()) return Value::Integer(static_cast<std::int64_t>(CountCharacters(text)) + 1);
  std::int64_t count = 0;
  for (std::size_t at = FindText(text, part, 0); at != kNone;
       at = FindText(text, part, at + part.size())) {
    ++count;
  }
  return Value::Integer(count);
}

Value ReplaceMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [from, to, count] = arguments.Bind<3>("replace", {"old", "new", "count"}, 2);
  return ReplaceAll(evaluator.budget(), self, RequireString(from, "replace"),
                    RequireString(to, "replace"), IntegerOr(count, -1, "replace"));
}

Value Join(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [items] = arguments.Bind<1>("join", {"iterable"}, 1);
  Writer writer(evaluator.budget());
  Iterator iterator(items);
  Value item;
  for (bool first = true; iterator.Next(item); first = false) {
    evaluator.budget().Step();
    if (!first) writer.Write(self);
    writer.Write(RequireString(item, "join"));
  }
  return writer.Finish().AsMarkup(self.is_markup());
}

Value RemovePrefix(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [prefix] = arguments.Bind<1>("removeprefix", {"prefix"}, 1);
  const std::string_view part = RequireString(prefix, "removeprefix").text();
  evaluator.budget().Touch(part.size());
  if (!self.text().starts_with(part)) return self;
  return Substring(self, part.size(), self.text().size());
}

Value RemoveSuffix(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [suffix] = arguments.Bind<1>("removesuffix", {"suffix"}, 1);
  const std::string_view part = RequireString(suffix, "removesuffix").text();
  evaluator.budget().Touch(part.size());
  if (!self.text().ends_with(part)) return self;
  return Substring(self, 0, self.text().size() - part.size());
}

template <bool last>
Value Partition(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [separator] = arguments.Bind<1>("partition", {"sep"}, 1);
  const std::string_view part = RequireString(separator, "partition").text();
  if (part.empty()) Fail("empty separator");
  evaluator.budget().Read(self.text().size());
  const std::size_t found =
      last ? BackwardSearch(evaluator.budget(), self.text(), part).Before(self.text().size())
           : FindText(self.text(), part, 0);
  const Value empty = Value::Static("");
  Objects& objects = evaluator.objects();
  if (found == kNone) {
    return last ? objects.Tuple({empty, empty, self}) : objects.Tuple({self, empty, empty});
  }
  const std::size_t after = found + part.size();
  return objects.Tuple({Substring(self, 0, found), Substring(self, found, part.size()),
                        Substring(self, after, self.text().size() - after)});
}

template <Side side>
Value JustifyMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [width, fill] = arguments.Bind<2>("ljust", {"width", "fillchar"}, 1);
  const Value with = Given(fill) ? RequireString(fill, "ljust") : Value::Static(" ");
  evaluator.budget().Touch(with.text().size());
  if (CountCharacters(with.text()) != 1) {
    Fail("The fill character must be exactly one character long");
  }
  return Justify(evaluator.budget(), self, IntegerOr(width, 0, "ljust"), with, side);
}

Value ZeroFill(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [width] = arguments.Bind<1>("zfill", {"width"}, 1);
  const std::string_view text = self.text();
  const std::size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const std::int64_t wanted = IntegerOr(width, 0, "zfill") - static_cast<std::int64_t>(sign);
  Budget& budget = evaluator.budget();
  const Value digits =
      Justify(budget, Substring(self, sign, text.size()), wanted, Value::Static("0"), Side::kRight);
  return Concatenate(budget, Substring(self, 0, sign), digits);
}

Value ExpandTabs(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const auto [given] = arguments.Bind<1>("expandtabs", {"tabsize"});
  const std::int64_t size = std::max<std::int64_t>(IntegerOr(given, 8, "expandtabs"), 0);
  if (size > kMaxFormatWidth) Fail("expandtabs: the size is too large");
  Writer writer(evaluator.budget());
  std::int64_t column = 0;
  const std::string_view text = self.text();
  evaluator.budget().Step(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character c = FirstCharacter(text.substr(at));
    if (c.code == '\t') {
      const std::int64_t spaces = size == 0 ? 0 : size - column % size;
      writer.Write(std::string(static_cast<std::size_t>(spaces), ' '), SourceAt(self, at));
      column += spaces;
    } else {
      writer.Write(Substring(self, at, c.length));
      column = c.code == '\n' || c.code == '\r' ? 0 : column + 1;
    }
    at += c.length;
  }
  return writer.Finish();
}

Value FormatMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  return FormatBraces(evaluator, self, arguments);
}

// Whether there are characters, and each is of a kind.
template <bool (*is)(char32_t), bool when_empty = false>
Value AllAre(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("the method");
  evaluator.budget().Read(self.text().size());
  if (self.text().empty()) return Value::Bool(when_empty);
  for (std::string_view rest = self.text(); !rest.empty();) {
    const Character c = FirstCharacter(rest);
    if (!is(c.code)) return Value::Bool(false);
    rest.remove_prefix(c.length);
  }
  return Value::Bool(true);
}

bool IsAlphanumeric(char32_t code) { return IsAlphabetic(code) || IsNumeric(code); }
bool IsAscii(char32_t code) { return code < 0x80; }
bool IsIdentifierPart(char32_t code) { return code == '_' || IsAlphanumeric(code); }

template <Casing casing>
Value InCaseMethod(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("the method");
  evaluator.budget().Read(self.text().size());
  return Value::Bool(AllInCase(evaluator.budget(), self.text(), casing));
}

Value IsTitle(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  arguments.ExpectNone("istitle");
  const bool cased = AllInCase(evaluator.budget(), self.text(), Casing::kLower) ||
                     std::any_of(self.text().begin(), self.text().end(),
                                 [](char c) { return IsCased(static_cast<unsigned char>(c)); });
  return Value::Bool(cased &&
                     InCase(evaluator.budget(), self, Casing::kTitle).text() == self.text());
}

Value IsIdentifier(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
  const bool digit_first = !self.text().empty() && IsNumeric(FirstCharacter(self.text()).code);
  return digit_first ? Value::Bool(false) : AllAre<IsIdentifierPart>(evaluator, self, arguments);
}

constexpr std::array<StringMethod, 42> kRows = {{
    {"upper", Cased<Casing::kUpper>},
    {"lower", Cased<Casing::kLower>},
    {"title", Cased<Casing::kTitle>},
    {"capitalize", Cased<Casing::kCapitalized>},
    {"swapcase", Cased<Casing::kSwapped>},
    {"strip", StripMethod<Ends::kBoth>},
    {"lstrip", StripMethod<Ends::kLeft>},
    {"rstrip", StripMethod<Ends::kRight>},
    {"split", SplitMethod},
    {"rsplit", RightSplit},
    {"splitlines", SplitLines},
    {"startswith", StartsOrEndsWith<false>},
    {"endswith", StartsOrEndsWith<true>},
    {"find", FindMethod<false>},
    {"rfind", FindMethod<true>},
    {"index", IndexMethod<false>},
    {"rindex", IndexMethod<true>},
    {"count", Count},
    {"replace", ReplaceMethod},
    {"join", Join},
    {"removeprefix", RemovePrefix},
    {"removesuffix", RemoveSuffix},
    {"partition", Partition<false>},
    {"rpartition", Partition<true>},
    {"ljust", JustifyMethod<Side::kLeft>},
    {"rjust", JustifyMethod<Side::kRight>},
    {"center", JustifyMethod<Side::kCenter>},
    {"zfill", ZeroFill},
    {"expandtabs", ExpandTabs},
    {"format", FormatMethod},
    {"isalpha", AllAre<IsAlphabetic>},
    {"isalnum", AllAre<IsAlphanumeric>},
    {"isascii", AllAre<IsAscii, true>},
    {"isdecimal", AllAre<IsDecimal>},
    {"isdigit", AllAre<IsDigitCharacter>},
    {"isnumeric", AllAre<IsNumeric>},
    {"isspace", AllAre<IsSpace>},
    {"isprintable", AllAre<IsPrintable, true>},
    {"islower", InCaseMethod<Casing::kLower>},
    {"isupper", InCaseMethod<Casing::kUpper>},
    {"istitle", IsTitle},
    {"isidentifier", IsIdentifier},
}};

}  // namespace

std::span<const StringMethod> StringMethods() { return kRows; }

}  // namespace banyan::text::jinja
