#include "text/jinja/format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/characters.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/evaluator.h"
#include "text/jinja/literal.h"
#include "text/jinja/text.h"

namespace banyan::text::jinja {
namespace {

int ReadWidth(std::string_view text, std::size_t& at) {
  int value = 0;
  while (at < text.size() && absl::ascii_isdigit(text[at])) {
    value = value * 10 + (text[at++] - '0');
    if (value > kMaxFormatWidth) {
      Fail(absl::StrCat("a format wider than ", kMaxFormatWidth));
    }
  }
  return value;
}

// `body` to the width; zeros go between sign and digits.
void WritePadded(Writer& writer, const Value& body, const Spec& spec, char fallback_align) {
  writer.budget().Touch(body.text().size());
  const std::size_t size = CountCharacters(body.text());
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t missing = width > size ? width - size : 0;
  const char align = spec.align == '\0' ? fallback_align : spec.align;
  const std::size_t before = align == '>' || align == '=' ? missing
                             : align == '^'               ? missing / 2
                                                          : 0;
  std::size_t sign = 0;
  if (align == '=' && !body.text().empty() &&
      std::string_view("+- ").find(body.text()[0]) != std::string_view::npos) {
    sign = 1;
  }
  writer.Write(Substring(body, 0, sign));
  for (std::size_t i = 0; i < before; ++i) writer.Write(spec.fill);
  writer.Write(Substring(body, sign, body.text().size()));
  for (std::size_t i = before; i < missing; ++i) writer.Write(spec.fill);
}

// One format % values.
class Percent {
 public:
  Percent(Evaluator& evaluator, const Value& format, const Value& values)
      : budget_(evaluator.budget()),
        format_(format),
        text_(format.text()),
        values_(values),
        writer_(budget_) {
    if (values.Is(Kind::kSequence) && values.As<Sequence>().IsTuple()) {
      tuple_ = &values.As<Sequence>();
    }
  }

  Value Run() {
    budget_.Read(text_.size());
    while (at_ < text_.size()) {
      const std::size_t percent = std::min(text_.find('%', at_), text_.size());
      writer_.Write(Substring(format_, at_, percent - at_));
      at_ = percent + 1;
      if (percent < text_.size()) Directive();
    }
    const std::size_t count = tuple_ == nullptr ? 1 : tuple_->items.size();
    const bool leftover = tuple_ != nullptr || (!values_.Is(Kind::kMapping) && !by_name_);
    if (leftover && next_ < count) Fail("not all arguments converted during string formatting");
    return writer_.Finish().AsMarkup(format_.is_markup());
  }

 private:
  Value NextValue() {
    if (tuple_ == nullptr && next_ == 0) {
      ++next_;
      return values_;
    }
    if (tuple_ == nullptr || next_ >= tuple_->items.size()) {
      Fail("not enough arguments for format string");
    }
    return tuple_->items[next_++];
  }

  int Star() {
    const Value value = NextValue();
    if (!value.IsIntegral() || std::abs(value.integer()) > kMaxFormatWidth) {
      Fail("* wants an int that is not too large");
    }
    return static_cast<int>(value.integer());
  }

  bool Skip(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void Directive() {
    std::optional<Value> named;
    if (Skip('(')) {
      const std::size_t close = text_.find(')', at_);
      if (close == std::string_view::npos) Fail("incomplete format key");
      if (!values_.Is(Kind::kMapping)) Fail("format requires a mapping");
      const std::string_view key = text_.substr(at_, close - at_);
      const Value* found = values_.As<Mapping>().Find(key);
      if (found == nullptr) Fail(absl::StrCat("no value for ", Quote(key)));
      named = *found;
      by_name_ = true;
      at_ = close + 1;
    }
    Spec spec;
    bool zero = false;
    for (;; ++at_) {
      if (at_ >= text_.size()) Fail("incomplete format");
      const char c = text_[at_];
      if (c == '-')
        spec.align = '<';
      else if (c == '0')
        zero = true;
      else if (c == '+' || (c == ' ' && spec.sign != '+'))
        spec.sign = c;
      else if (c == '#')
        spec.alternate = true;
      else if (c != ' ')
        break;
    }
    spec.width = Skip('*') ? Star() : ReadWidth(text_, at_);
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (Skip('.')) spec.precision = Skip('*') ? std::max(0, Star()) : ReadWidth(text_, at_);
    while (Skip('l') || Skip('h') || Skip('L')) {
    }
    if (at_ >= text_.size()) Fail("incomplete format");
    const char type = text_[at_++];
    if (type == '%') return writer_.Write(Substring(format_, at_ - 1, 1));
    const Value value = named ? *std::move(named) : NextValue();
    if (zero && spec.align == '\0' &&
        std::string_view("sra c").find(type) == std::string_view::npos) {
      spec.align = '=';
      spec.fill = Value::Static("0");
    }
    Write(value, type, spec);
  }

  void Write(const Value& value, char type, Spec& spec) {
    if (type == 's' || type == 'r') {
      Writer body(budget_);
      if (type == 's') {
        const bool escape = format_.is_markup() && !value.is_markup();
        WriteText(body, escape ? Escape(budget_, value) : value);
      } else {
        WriteRepr(body, value);
      }
      Value text = body.Finish();
      if (spec.precision >= 0) {
        text = Substring(text, 0, ByteOf(text.text(), static_cast<std::size_t>(spec.precision)));
      }
      return WritePadded(writer_, text, spec, '>');
    }
    if (type == 'c') return Character(value, spec);
    spec.type = type == 'i' || type == 'u' ? 'd' : type;
    if (std::string_view("dxXoeEfFgG").find(spec.type) == std::string_view::npos) {
      Fail(absl::StrCat("unsupported format character ", Quote({&type, 1})));
    }
    if (value.Is(Kind::kUndefined)) FailUndefined(value);
    if (!value.IsNumber()) {
      Fail(absl::StrCat("%", std::string(1, type), " format: a number is required, not ",
                        std::string(TypeName(value))));
    }
    Value number = value;
    if (value.Is(Kind::kFloat) && spec.type == 'd') number = Truncated(value);
    if (value.Is(Kind::kFloat) &&
        std::string_view("xXo").find(spec.type) != std::string_view::npos) {
      Fail("an integer is required, not float");
    }
    if (spec.type == 'd' && spec.precision > 0) Fail("a precision of an integer is not supported");
    WritePadded(writer_, MakeString(budget_, SpellNumber(number, spec), value.source()), spec, '>');
  }

  static Value Truncated(const Value& value) {
    const double number = value.as_float();
    if (!(std::abs(number) < 0x1p63)) Fail("an integer is too large");
    return Value::Integer(static_cast<std::int64_t>(number), value.source());
  }

  void Character(const Value& value, const Spec& spec) {
    std::string text;
    if (value.IsIntegral() && value.integer() >= 0 && value.integer() < 0x110000 &&
        (value.integer() < 0xD800 || value.integer() >= 0xE000)) {
      AppendUtf8(static_cast<char32_t>(value.integer()), text);
    } else if (value.IsString() && CountCharacters(value.text()) == 1) {
      text.append(value.text());
    } else {
      Fail("%c requires int or char");
    }
    WritePadded(
        writer_,
        MakeString(budget_, text,
                   value.source() == Source::kTemplate ? Source::kTemplate : Source::kMessage),
        spec, '>');
  }

  Budget& budget_;
  const Value& format_;
  const std::string_view text_;
  const Value& values_;
  const Sequence* tuple_ = nullptr;
  Writer writer_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;  // of the positional values
  bool by_name_ = false;
};

// One format.format(arguments).
class Braces {
 public:
  Braces(Evaluator& evaluator, const Value& format, const Arguments& arguments)
      : evaluator_(evaluator),
        budget_(evaluator.budget()),
        format_(format),
        text_(format.text()),
        arguments_(arguments),
        writer_(budget_) {}

  Value Run() {
    budget_.Read(text_.size());
    while (at_ < text_.size()) {
      const std::size_t brace = std::min(text_.find_first_of("{}", at_), text_.size());
      writer_.Write(Substring(format_, at_, brace - at_));
      at_ = brace;
      if (at_ == text_.size()) break;
      const char c = text_[at_++];
      if (at_ < text_.size() && text_[at_] == c) {
        writer_.Write(Substring(format_, at_++, 1));
      } else if (c == '}') {
        Fail("Single '}' encountered in format string");
      } else {
        Field();
      }
    }
    return writer_.Finish().AsMarkup(format_.is_markup());
  }

 private:
  void Field() {
    budget_.Step(1 + arguments_.named.size() / 4);
    const std::size_t close = text_.find('}', at_);
    if (close == std::string_view::npos) Fail("expected '}' before end of string");
    std::string_view field = text_.substr(at_, close - at_);
    if (field.find('{') != std::string_view::npos) Fail("a field within a field is not supported");
    at_ = close + 1;
    std::string_view spelled;
    if (const std::size_t colon = field.find(':'); colon != std::string_view::npos) {
      spelled = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    char conversion = '\0';
    if (const std::size_t mark = field.find('!'); mark != std::string_view::npos) {
      if (field.size() != mark + 2) Fail("expected ':' after conversion specifier");
      conversion = field[mark + 1];
      field = field.substr(0, mark);
    }
    Value value = Lookup(field);
    if (conversion == 'r') {
      Writer quoted(budget_);
      WriteRepr(quoted, value);
      value = quoted.Finish();
    } else if (conversion == 's') {
      value = ToText(budget_, value);
    } else if (conversion != '\0') {
      Fail("unknown conversion specifier");
    }
    Write(value, spelled);
  }

  Value Lookup(std::string_view field) {
    std::size_t end = std::min(field.find_first_of(".["), field.size());
    Value value = First(field.substr(0, end));
    while (end < field.size()) {
      const bool attribute = field[end] == '.';
      const std::size_t begin = end + 1;
      end = attribute ? std::min(field.find_first_of(".[", begin), field.size())
                      : field.find(']', begin);
      if (end == std::string_view::npos) Fail("Missing ']' in format string");
      const std::string_view name = field.substr(begin, end - begin);
      if (name.empty()) Fail("Empty attribute in format string");
      const std::optional<std::int64_t> index = attribute ? std::nullopt : ParseInteger(name, 10);
      const Value key = index ? Value::Integer(*index) : MakeString(budget_, name);
      value = attribute ? evaluator_.Attribute(value, key, MethodNamed(name))
                        : evaluator_.Item(value, key);
      if (!attribute) ++end;
    }
    return value;
  }

  Value First(std::string_view name) {
    std::optional<std::int64_t> index;
    if (name.empty()) {
      index = static_cast<std::int64_t>(next_++);
    } else if (absl::ascii_isdigit(name[0])) {
      index = ParseInteger(name, 10);
    }
    if (index) {
      if (*index < 0 || *index >= static_cast<std::int64_t>(arguments_.positional.size())) {
        Fail("Replacement index out of range for positional args tuple");
      }
      return arguments_.positional[static_cast<std::size_t>(*index)];
    }
    for (const auto& [key, value] : arguments_.named) {
      if (key.text() == name) return value;
    }
    Fail(absl::StrCat("no value for ", Quote(name)));
  }

  // `text` is a part of the format.
  Spec ReadSpec(std::string_view text) const {
    Spec spec;
    std::size_t at = 0;
    constexpr std::string_view kAligns = "<>=^";
    const std::size_t first = text.empty() ? 0 : FirstCharacter(text).length;
    if (text.size() > first && kAligns.find(text[first]) != std::string_view::npos) {
      spec.fill = Substring(format_, static_cast<std::size_t>(text.data() - text_.data()), first);
      spec.align = text[first];
      at = first + 1;
    } else if (!text.empty() && kAligns.find(text[0]) != std::string_view::npos) {
      spec.align = text[at++];
    }
    const auto skip = [&](std::string_view any) {
      if (at >= text.size() || any.find(text[at]) == std::string_view::npos) return '\0';
      return text[at++];
    };
    if (const char sign = skip("+- ")) spec.sign = sign;
    spec.alternate = skip("#") != '\0';
    if (skip("0") != '\0' && spec.align == '\0') {
      spec.align = '=';
      spec.fill = Value::Static("0");
    }
    spec.width = ReadWidth(text, at);
    spec.group = skip(",_");
    if (skip(".") != '\0') {
      if (at >= text.size() || !absl::ascii_isdigit(text[at]))
        Fail("Format specifier missing precision");
      spec.precision = ReadWidth(text, at);
    }
    spec.type = skip("bcdeEfFgGnosxX%");
    if (at != text.size()) Fail(absl::StrCat("Invalid format specifier ", Quote(text)));
    return spec;
  }

  void Write(const Value& value, std::string_view spelled) {
    if (spelled.empty()) return WriteText(writer_, value);
    const Spec spec = ReadSpec(spelled);
    if (value.IsNumber()) {
      const Value body = MakeString(budget_, SpellNumber(value, spec), value.source());
      return WritePadded(writer_, body, spec, '>');
    }
    if (!value.IsString()) {
      Fail(absl::StrCat("unsupported format string passed to ", std::string(TypeName(value)),
                        ".__format__"));
    }
    if ((spec.type != '\0' && spec.type != 's') || spec.align == '=') {
      Fail("a format that is not for strings");
    }
    Value text = value;
    if (spec.precision >= 0) {
      text = Substring(text, 0, ByteOf(text.text(), static_cast<std::size_t>(spec.precision)));
    }
    WritePadded(writer_, text, spec, '<');
  }

  Evaluator& evaluator_;
  Budget& budget_;
  const Value& format_;
  const std::string_view text_;
  const Arguments& arguments_;
  Writer writer_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

Value FormatPercent(Evaluator& evaluator, const Value& format, const Value& values) {
  return Percent(evaluator, format, values).Run();
}

Value FormatBraces(Evaluator& evaluator, const Value& format, const Arguments& arguments) {
  return Braces(evaluator, format, arguments).Run();
}

}  // namespace banyan::text::jinja
