#include "text/jinja/json.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "text/jinja/characters.h"
#include "text/jinja/compare.h"
#include "text/jinja/convert.h"
#include "text/jinja/error.h"
#include "text/jinja/format.h"
#include "text/jinja/iterate.h"
#include "text/jinja/text.h"

namespace banyan::text::jinja {
namespace {

std::string_view JsonFloat(double value, std::string& spelled) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return spelled = SpellFloat(value);
}

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const Arguments& arguments) : writer_(budget) {
    const auto [ascii, indent, separators, sort] =
        arguments.Bind<4>("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
    ascii_ = Truth(ascii);
    sort_ = Truth(sort);
    if (indent.IsString()) {
      indents_ = true;
      indent_ = indent;
    } else if (indent.IsIntegral()) {
      indents_ = true;
      if (indent.integer() > kMaxFormatWidth) Fail("tojson: the indent is too large");
      const auto width = static_cast<std::size_t>(std::max<std::int64_t>(indent.integer(), 0));
      indent_ = MakeString(budget, std::string(width, ' '));
    } else if (Given(indent) && !indent.Is(Kind::kNone)) {
      Fail("tojson: indent must be a number or a string");
    }
    if (indents_) item_separator_ = Value::Static(",");
    if (!Given(separators) || separators.Is(Kind::kNone)) return;
    const std::vector<Value> pair = Collect(budget, separators);
    if (pair.size() != 2 || !pair[0].IsString() || !pair[1].IsString()) {
      Fail("tojson: separators must be two strings");
    }
    item_separator_ = pair[0];
    key_separator_ = pair[1];
  }

  Value Run(const Value& value) {
    Write(value);
    return writer_.Finish();
  }

 private:
  void Write(const Value& value) {
    writer_.budget().Step();
    switch (value.kind()) {
      case Kind::kNone:
        return writer_.Write("null", value.source());
      case Kind::kBool:
        return writer_.Write(value.integer() != 0 ? "true" : "false", value.source());
      case Kind::kInteger:
      case Kind::kUnsigned:
        return writer_.Write(SpellInteger(value), value.source());
      case Kind::kFloat: {
        std::string spelled;
        return writer_.Write(JsonFloat(value.as_float(), spelled), value.source());
      }
      case Kind::kString:
        return WriteString(value);
      case Kind::kMapping:
        return WriteMapping(value.As<Mapping>());
      case Kind::kSequence: {
        const Sequence& sequence = value.As<Sequence>();
        if (sequence.IsTuple() || sequence.flavor == Flavor::kList) return WriteList(sequence);
        break;
      }
      default:
        break;
    }
    Fail(
        absl::StrCat("Object of type ", std::string(TypeName(value)), " is not JSON serializable"));
  }

  void WriteString(const Value& string) {
    writer_.Write("\"");
    ForEachRun(string, [&](std::string_view run, Source source) {
      std::size_t plain = 0;
      for (std::size_t i = 0; i < run.size();) {
        const auto c = static_cast<unsigned char>(run[i]);
        if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x7F || !ascii_)) {
          ++i;
          continue;
        }
        writer_.Write(run.substr(plain, i - plain), source);
        const Character character = FirstCharacter(run.substr(i));
        writer_.Write(Escaped(character.code), source);
        i += character.length;
        plain = i;
      }
      writer_.Write(run.substr(plain), source);
    });
    writer_.Write("\"");
  }

  static std::string Escaped(char32_t code) {
    constexpr std::string_view kNamed = "\"\\\n\r\t\f\b";
    constexpr std::string_view kNames = "\"\\nrtfb";
    if (code < 0x80) {
      const std::size_t named = kNamed.find(static_cast<char>(code));
      if (named != std::string_view::npos) return {'\\', kNames[named]};
    }
    const auto value = static_cast<unsigned>(code);
    if (value < 0x10000) return absl::StrFormat("\\u%04x", value);
    const unsigned rest = value - 0x10000;
    return absl::StrFormat("\\u%04x\\u%04x", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  }

  void NewLine() {
    if (!indents_) return;
    writer_.Write("\n");
    for (int i = 0; i < level_; ++i) writer_.Write(indent_);
  }

  template <typename Items, typename WriteOne>
  void WriteAll(const Items& items, const char* open, const char* close, WriteOne write) {
    writer_.Write(open);
    if (items.empty()) return writer_.Write(close);
    ++level_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) writer_.Write(item_separator_);
      first = false;
      NewLine();
      write(item);
    }
    --level_;
    NewLine();
    writer_.Write(close);
  }

  void WriteList(const Sequence& list) {
    WriteAll(list.items, "[", "]", [&](const Value& item) { Write(item); });
  }

  void WriteMapping(const Mapping& mapping) {
    std::vector<const Mapping::Entry*> entries;
    for (const Mapping::Entry& entry : mapping.entries()) entries.push_back(&entry);
    writer_.budget().Step(entries.size());
    if (sort_) {
      std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
        return Order(writer_.budget(), a->first, b->first) < 0;
      });
    }
    WriteAll(entries, "{", "}", [&](const Mapping::Entry* entry) {
      WriteKey(entry->first);
      writer_.Write(key_separator_);
      Write(entry->second);
    });
  }

  void WriteKey(const Value& key) {
    if (key.IsString()) return WriteString(key);
    if (!key.IsNumber() && !key.Is(Kind::kNone)) {
      Fail(absl::StrCat("keys must be str, int, float, bool or None, not ",
                        std::string(TypeName(key))));
    }
    writer_.Write("\"");
    Write(key);
    writer_.Write("\"");
  }

  Writer writer_;
  bool ascii_ = false;
  bool sort_ = false;
  bool indents_ = false;
  Value indent_;
  Value item_separator_ = Value::Static(", ");
  Value key_separator_ = Value::Static(": ");
  int level_ = 0;
};

Value StringFromJson(std::string_view text) {
  if (text.size() > kMaxStringBytes) {
    throw Error(ErrorKind::kTooMuch,
                absl::StrCat("the request has a string of more than ", kMaxStringBytes, " bytes"));
  }
  return Value::Static(text, Source::kMessage);
}

Value FromJson(Objects& objects, const boost::json::value& json, int depth) {
  if (depth > kMaxValueDepth) {
    throw Error(ErrorKind::kTooMuch,
                absl::StrCat("the request nests more than ", kMaxValueDepth, " deep"));
  }
  switch (json.kind()) {
    case boost::json::kind::null:
      return Value::None(Source::kMessage);
    case boost::json::kind::bool_:
      return Value::Bool(json.get_bool(), Source::kMessage);
    case boost::json::kind::int64:
      return Value::Integer(json.get_int64(), Source::kMessage);
    case boost::json::kind::uint64:
      if (json.get_uint64() <= static_cast<std::uint64_t>(INT64_MAX)) {
        return Value::Integer(static_cast<std::int64_t>(json.get_uint64()), Source::kMessage);
      }
      return Value::Unsigned(json.get_uint64(), Source::kMessage);
    case boost::json::kind::double_:
      return Value::Float(json.get_double(), Source::kMessage);
    case boost::json::kind::string:
      return StringFromJson(json.get_string());
    case boost::json::kind::array: {
      std::vector<Value> items;
      items.reserve(json.get_array().size());
      for (const boost::json::value& item : json.get_array()) {
        items.push_back(FromJson(objects, item, depth + 1));
      }
      return objects.List(std::move(items));
    }
    case boost::json::kind::object:
      break;
  }
  const Ref<Mapping> mapping = objects.NewMapping();
  for (const auto& [key, value] : json.get_object()) {
    mapping->Set(StringFromJson(key), FromJson(objects, value, depth + 1));
  }
  return AsValue(mapping);
}

}  // namespace

Value ToJson(Budget& budget, const Value& value, const Arguments& arguments) {
  return JsonWriter(budget, arguments).Run(value);
}

Value FromJson(Objects& objects, const boost::json::value& json) {
  return FromJson(objects, json, 1);
}

}  // namespace banyan::text::jinja
