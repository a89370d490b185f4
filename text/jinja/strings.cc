#include "text/jinja/strings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "text/jinja/characters.h"
#include "text/jinja/error.h"
#include "text/jinja/search.h"

namespace banyan::text::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;
constexpr char32_t kSigma = 0x3A3;
constexpr std::size_t kChunkBytes = 4096;  // of what is not yet in a writer

// Before and behind them a letter still counts as within its word.
bool IsWithinWords(char32_t c) {
  return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xA8 || c == 0xAD ||
         c == 0xB7 || c == 0x2019 || (c >= 0x300 && c <= 0x36F);
}

std::size_t PreviousCharacter(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && !BeginsCharacter(text[begin])) --begin;
  return begin;
}

// Whether the sigma at `at` ends its word, and is written as such in lower case.
bool IsFinalSigma(std::string_view text, std::size_t at) {
  bool before = false;
  for (std::size_t end = at; end > 0;) {
    const std::size_t begin = PreviousCharacter(text, end);
    const char32_t code = FirstCharacter(text.substr(begin)).code;
    if (!IsWithinWords(code)) {
      before = IsCased(code);
      break;
    }
    end = begin;
  }
  if (!before) return false;
  for (std::size_t i = at + 2; i < text.size();) {
    const Character c = FirstCharacter(text.substr(i));
    if (!IsWithinWords(c.code)) return !IsCased(c.code);
    i += c.length;
  }
  return true;
}

Case CaseOf(Casing casing, char32_t code, bool first, bool after_letter) {
  switch (casing) {
    case Casing::kUpper:
      return Case::kUpper;
    case Casing::kCapitalized:
      return first ? Case::kTitle : Case::kLower;
    case Casing::kTitle:
      return after_letter ? Case::kLower : Case::kTitle;
    case Casing::kSwapped:
      return IsUpper(code) ? Case::kLower : Case::kUpper;
    case Casing::kLower:
      break;
  }
  return Case::kLower;
}

bool Has(const Value& chars, char32_t wanted) {
  for (std::string_view rest = chars.text(); !rest.empty();) {
    const Character c = FirstCharacter(rest);
    if (c.code == wanted) return true;
    rest.remove_prefix(c.length);
  }
  return false;
}

bool IsLineBreak(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool AtSpace(const Value& separator) {
  return separator.Is(Kind::kMissing) || separator.Is(Kind::kNone);
}

void CheckSeparator(const Value& separator) {
  if (separator.Is(Kind::kUndefined)) FailUndefined(separator);
  if (!separator.IsString()) {
    Fail(absl::StrCat("must be str or None, not ", std::string(TypeName(separator))));
  }
  if (separator.text().empty()) Fail("empty separator");
}

// A part more: each costs a step, and memory that no object holds yet.
void Push(Budget& budget, std::vector<Value>& parts, Value part) {
  budget.Step();
  if (parts.size() * sizeof(Value) > kMaxHeldBytes) budget.Hold(kMaxHeldBytes + 1);
  parts.push_back(std::move(part));
}

}  // namespace

Value InCase(Budget& budget, const Value& string, Casing casing) {
  const std::string_view text = string.text();
  budget.Read(text.size());
  Writer writer(budget);
  std::size_t at = 0;
  bool after_letter = false;
  ForEachRun(string, [&](std::string_view run, Source source) {
    std::string out;
    const std::size_t end = at + run.size();
    while (at < end) {
      const Character c = FirstCharacter(text.substr(at));
      const Case wanted = CaseOf(casing, c.code, at == 0, after_letter);
      if (c.code == kSigma && wanted == Case::kLower) {
        budget.Read(text.size());
        out += IsFinalSigma(text, at) ? "\u03C2" : "\u03C3";
      } else {
        AppendInCase(c.code, wanted, out);
      }
      if (casing == Casing::kTitle) after_letter = IsCased(c.code);
      at += c.length;
      if (out.size() < kChunkBytes) continue;
      writer.Write(out, source);
      out.clear();
    }
    writer.Write(out, source);
  });
  return writer.Finish().AsMarkup(string.is_markup());
}

bool AllInCase(Budget& budget, std::string_view text, Casing casing) {
  budget.Read(text.size());
  bool any = false;
  while (!text.empty()) {
    const Character c = FirstCharacter(text);
    const bool upper = IsUpper(c.code);
    const bool lower = IsLower(c.code);
    if (casing == Casing::kUpper ? lower : upper) return false;
    any = any || upper || lower;
    text.remove_prefix(c.length);
  }
  return any;
}

Value Strip(Budget& budget, const Value& string, const Value& chars, Ends ends) {
  const std::string_view text = string.text();
  if (!AtSpace(chars) && !chars.IsString()) {
    if (chars.Is(Kind::kUndefined)) FailUndefined(chars);
    Fail(absl::StrCat("strip arg must be None or str, not ", std::string(TypeName(chars))));
  }
  const auto stripped = [&](char32_t code) {
    if (AtSpace(chars)) return IsSpace(code);
    budget.Read(chars.text().size());
    return Has(chars, code);
  };
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (ends != Ends::kRight && begin < end) {
    const Character c = FirstCharacter(text.substr(begin));
    if (!stripped(c.code)) break;
    begin += c.length;
  }
  while (ends != Ends::kLeft && begin < end) {
    const std::size_t last = PreviousCharacter(text, end);
    if (!stripped(FirstCharacter(text.substr(last)).code)) break;
    end = last;
  }
  budget.Read(text.size() - (end - begin));
  return Substring(string, begin, end - begin);
}

Value ReplaceAll(Budget& budget, const Value& string, const Value& from, const Value& to,
                 std::int64_t most) {
  const std::string_view text = string.text();
  const std::string_view wanted = from.text();
  budget.Read(text.size());
  if (most == 0 || (!wanted.empty() && FindText(text, wanted, 0) == kNone)) return string;
  Writer writer(budget);
  std::size_t done = 0;
  std::size_t at = 0;
  for (std::int64_t count = 0; most < 0 || count < most; ++count) {
    budget.Step();
    const std::size_t found = wanted.empty() ? at : FindText(text, wanted, at);
    if (found == kNone || found > text.size()) break;
    writer.Write(Substring(string, done, found - done));
    // Where a message has the text that is replaced, the replacement is there by its will.
    const Value replaced = wanted.empty() ? string : Substring(string, found, wanted.size());
    if (replaced.source() == Source::kTemplate) {
      writer.Write(to);
    } else {
      writer.Write(to.text(), Source::kMessage);
    }
    done = found + wanted.size();
    at = done;
    if (!wanted.empty()) continue;
    // Between all characters, and at both ends.
    if (at == text.size()) break;
    at += FirstCharacter(text.substr(at)).length;
  }
  writer.Write(Substring(string, done, text.size()));
  return writer.Finish().AsMarkup(string.is_markup());
}

std::vector<Value> Lines(Budget& budget, const Value& string, bool keep_ends) {
  const std::string_view text = string.text();
  budget.Read(text.size());
  std::vector<Value> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = FirstCharacter(text.substr(at));
    if (!IsLineBreak(c.code)) {
      at += c.length;
      continue;
    }
    const std::size_t end = at;
    at += c.code == '\r' && text.substr(at, 2) == "\r\n" ? 2 : c.length;
    Push(budget, lines, Substring(string, begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) Push(budget, lines, Substring(string, begin, text.size() - begin));
  return lines;
}

std::vector<Value> Split(Budget& budget, const Value& string, const Value& separator,
                         std::int64_t most) {
  const std::string_view text = string.text();
  budget.Read(text.size());
  std::vector<Value> parts;
  std::size_t begin = 0;
  const auto may_cut = [&] { return most < 0 || static_cast<std::int64_t>(parts.size()) < most; };
  if (!AtSpace(separator)) {
    CheckSeparator(separator);
    while (may_cut()) {
      const std::size_t found = FindText(text, separator.text(), begin);
      if (found == kNone) break;
      Push(budget, parts, Substring(string, begin, found - begin));
      begin = found + separator.text().size();
    }
    Push(budget, parts, Substring(string, begin, text.size() - begin));
    return parts;
  }
  for (;;) {
    begin += LeadingSpace(text.substr(begin));
    if (begin == text.size()) return parts;
    if (!may_cut()) break;
    std::size_t end = begin;
    while (end < text.size()) {
      const Character c = FirstCharacter(text.substr(end));
      if (IsSpace(c.code)) break;
      end += c.length;
    }
    Push(budget, parts, Substring(string, begin, end - begin));
    begin = end;
  }
  Push(budget, parts, Substring(string, begin, text.size() - begin));
  return parts;
}

std::vector<Value> SplitFromRight(Budget& budget, const Value& string, const Value& separator,
                                  std::int64_t most) {
  if (most < 0) return Split(budget, string, separator, most);
  const std::string_view text = string.text();
  budget.Read(text.size());
  std::vector<Value> parts;
  std::size_t end = text.size();
  const auto may_cut = [&] { return static_cast<std::int64_t>(parts.size()) < most; };
  if (!AtSpace(separator)) {
    CheckSeparator(separator);
    const std::size_t length = separator.text().size();
    const BackwardSearch search(budget, text, separator.text());
    while (may_cut()) {
      const std::size_t found = search.Before(end);
      if (found == kNone) break;
      Push(budget, parts, Substring(string, found + length, end - found - length));
      end = found;
    }
    Push(budget, parts, Substring(string, 0, end));
  } else {
    for (;;) {
      end -= TrailingSpace(text.substr(0, end));
      if (end == 0) break;
      if (!may_cut()) {
        Push(budget, parts, Substring(string, 0, end));
        break;
      }
      std::size_t begin = end;
      while (begin > 0) {
        const std::size_t previous = PreviousCharacter(text, begin);
        if (IsSpace(FirstCharacter(text.substr(previous)).code)) break;
        begin = previous;
      }
      Push(budget, parts, Substring(string, begin, end - begin));
      end = begin;
    }
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Value Justify(Budget& budget, const Value& string, std::int64_t width, const Value& fill,
              Side side) {
  budget.Touch(string.text().size());
  const auto size = static_cast<std::int64_t>(CountCharacters(string.text()));
  if (width <= size) return string;
  const std::int64_t missing = width - size;
  std::int64_t before = 0;
  if (side == Side::kRight) before = missing;
  // As CPython rounds: an odd one goes left when the width is odd too.
  if (side == Side::kCenter) before = missing / 2 + (missing & width & 1);
  Writer writer(budget);
  const auto write = [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) {
      budget.Step();
      writer.Write(fill);
    }
  };
  write(before);
  writer.Write(string);
  write(missing - before);
  return writer.Finish().AsMarkup(string.is_markup());
}

}  // namespace banyan::text::jinja
