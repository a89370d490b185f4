#include "text/jinja/convert.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "text/jinja/characters.h"
#include "text/jinja/error.h"
#include "text/jinja/objects.h"

namespace banyan::text::jinja {
namespace {

constexpr std::size_t kChunkBytes = 4096;  // of what is not yet in a writer

// With the quotes that need fewer escapes, and escapes where a character is not printable.
void WriteQuoted(Writer& writer, const Value& string) {
  const std::string_view text = string.text();
  writer.budget().Step(text.size());  // escapes are dear
  const bool single =
      text.find('\'') == std::string_view::npos || text.find('"') != std::string_view::npos;
  const char quote = single ? '\'' : '"';
  if (string.is_markup()) writer.Write("Markup(");
  writer.Write({&quote, 1});
  ForEachRun(string, [&](std::string_view run, Source source) {
    std::string out;
    for (std::size_t i = 0; i < run.size();) {
      const Character c = FirstCharacter(run.substr(i));
      if (c.code == static_cast<char32_t>(quote) || c.code == '\\') {
        out += {'\\', static_cast<char>(c.code)};
      } else if (c.code == '\n' || c.code == '\r' || c.code == '\t') {
        out += c.code == '\n' ? "\\n" : c.code == '\r' ? "\\r" : "\\t";
      } else if (IsPrintable(c.code)) {
        out += run.substr(i, c.length);
      } else {
        const auto code = static_cast<unsigned>(c.code);
        out += code < 0x100     ? absl::StrFormat("\\x%02x", code)
               : code < 0x10000 ? absl::StrFormat("\\u%04x", code)
                                : absl::StrFormat("\\U%08x", code);
      }
      i += c.length;
      if (out.size() < kChunkBytes) continue;
      writer.Write(out, source);
      out.clear();
    }
    writer.Write(out, source);
  });
  writer.Write({&quote, 1});
  if (string.is_markup()) writer.Write(")");
}

void WriteItems(Writer& writer, const Sequence& sequence) {
  bool first = true;
  for (const Value& item : sequence.items) {
    writer.budget().Step();
    if (!first) writer.Write(", ");
    first = false;
    WriteRepr(writer, item);
  }
}

void WriteSequence(Writer& writer, const Sequence& sequence) {
  switch (sequence.flavor) {
    case Flavor::kList:
      writer.Write("[");
      WriteItems(writer, sequence);
      return writer.Write("]");
    case Flavor::kTuple:
    case Flavor::kGroup:
      writer.Write("(");
      WriteItems(writer, sequence);
      return writer.Write(sequence.items.size() == 1 ? ",)" : ")");
    case Flavor::kView:
      writer.Write(sequence.view_name);
      writer.Write("([");
      WriteItems(writer, sequence);
      return writer.Write("])");
    case Flavor::kRange:
      break;
  }
  const auto [start, stop, step] = sequence.range;
  writer.Write(step == 1 ? absl::StrCat("range(", start, ", ", stop, ")")
                         : absl::StrCat("range(", start, ", ", stop, ", ", step, ")"));
}

void WriteMapping(Writer& writer, const Mapping& mapping) {
  writer.Write("{");
  bool first = true;
  for (const auto& [key, value] : mapping.entries()) {
    writer.budget().Step();
    if (!first) writer.Write(", ");
    first = false;
    WriteRepr(writer, key);
    writer.Write(": ");
    WriteRepr(writer, value);
  }
  writer.Write("}");
}

}  // namespace

std::string SpellInteger(const Value& value) {
  if (value.Is(Kind::kBool)) return value.integer() != 0 ? "True" : "False";
  return value.Is(Kind::kUnsigned) ? absl::StrCat(value.as_unsigned())
                                   : absl::StrCat(value.integer());
}

std::string SpellFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                        std::chars_format::scientific);
  const std::string spelled(buffer.data(), scientific.ptr);
  const int exponent = std::atoi(spelled.c_str() + spelled.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return spelled;
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  std::string out(buffer.data(), fixed.ptr);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

double ToFloat(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInteger:
      return static_cast<double>(value.integer());
    case Kind::kUnsigned:
      return static_cast<double>(value.as_unsigned());
    case Kind::kFloat:
      return value.as_float();
    case Kind::kUndefined:
      FailUndefined(value);
    default:
      Fail(absl::StrCat("must be a number, not ", std::string(TypeName(value))));
  }
}

void WriteRepr(Writer& writer, const Value& value) {
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return writer.Write("Undefined");
    case Kind::kNone:
      return writer.Write("None", value.source());
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kUnsigned:
      return writer.Write(SpellInteger(value), value.source());
    case Kind::kFloat:
      return writer.Write(SpellFloat(value.as_float()), value.source());
    case Kind::kString:
      return WriteQuoted(writer, value);
    case Kind::kSequence:
      return WriteSequence(writer, value.As<Sequence>());
    case Kind::kMapping:
      return WriteMapping(writer, value.As<Mapping>());
    default:
      // Python writes an address here.
      return writer.Write(absl::StrCat("<", std::string(TypeName(value)), ">"));
  }
}

void WriteText(Writer& writer, const Value& value) {
  if (value.IsString()) return writer.Write(value);
  if (value.Is(Kind::kUndefined)) return;
  WriteRepr(writer, value);
}

Value ToText(Budget& budget, const Value& value) {
  if (value.IsString()) return value;
  Writer writer(budget);
  WriteText(writer, value);
  return writer.Finish();
}

Value Escape(Budget& budget, const Value& value) {
  if (value.is_markup()) return value;
  Writer writer(budget);
  ForEachRun(ToText(budget, value), [&](std::string_view run, Source source) {
    for (std::size_t i = 0; i < run.size();) {
      const std::size_t special = std::min(run.find_first_of("&<>\"'", i), run.size());
      writer.Write(run.substr(i, special - i), source);
      i = special;
      if (i == run.size()) break;
      const char c = run[i++];
      writer.Write(c == '&'   ? "&amp;"
                   : c == '<' ? "&lt;"
                   : c == '>' ? "&gt;"
                   : c == '"' ? "&#34;"
                              : "&#39;",
                   source);
    }
  });
  return writer.Finish().AsMarkup(true);
}

}  // namespace banyan::text::jinja
