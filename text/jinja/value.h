// What a template computes with: Python's values, as far as templates meet them, and where each
// byte of a string came from.
//
// Values are immutable but for namespaces (set ns.x) and generators (which run dry). A value
// belongs to one rendering and one thread. Strings may point into the template's text or the
// conversation, which outlive the rendering.
//
// Invariants:
//  1. The objects reachable from a list or mapping nest at most kMaxValueDepth deep, so that walks
//     over them (and their destruction) may recurse.
//  2. Only namespaces can be part of a cycle. Objects (objects.h) keeps them all, and empties them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "text/codec.h"
#include "text/jinja/reference.h"

namespace banyan::text::jinja {

enum class Kind : std::uint8_t {
  kMissing,  // no value: an argument that was not given, a name that is not in a scope
  kUndefined,
  kNone,
  kBool,
  kInteger,
  kUnsigned,  // an integer of the request above 2^63 - 1: printed, not calculated with
  kFloat,
  kString,
  kSequence,
  kMapping,
  kNamespace,
  kGenerator,
  kLoop,
  kMacro,
  kMethod,    // of a value, not yet called
  kFunction,  // one of the language's own
};

// Where the bytes of a string came from. kMixed: its object's runs know (text.h).
enum class Source : std::uint8_t { kTemplate, kMessage, kMixed };

// Why a value is undefined, for the message if it is used.
enum class Absence : std::uint8_t { kName, kAttribute, kNoElse, kParameter, kEmpty, kUnsafe };

class Value {
 public:
  Value() = default;  // kMissing

  static Value None(Source source = Source::kTemplate) { return Value(Kind::kNone, source); }
  static Value Bool(bool b, Source source = Source::kTemplate) {
    Value value(Kind::kBool, source);
    value.integer_ = b ? 1 : 0;
    return value;
  }
  static Value Integer(std::int64_t i, Source source = Source::kTemplate) {
    Value value(Kind::kInteger, source);
    value.integer_ = i;
    return value;
  }
  static Value Unsigned(std::uint64_t u, Source source) {
    Value value(Kind::kUnsigned, source);
    value.unsigned_ = u;
    return value;
  }
  static Value Float(double d, Source source = Source::kTemplate) {
    Value value(Kind::kFloat, source);
    value.float_ = d;
    return value;
  }
  // `bytes` outlive the rendering.
  static Value Static(std::string_view bytes, Source source = Source::kTemplate) {
    return String(bytes, source, nullptr);
  }
  // `bytes` are part of `owner`, if there is one.
  static Value String(std::string_view bytes, Source source, Object* owner) {
    Value value(Kind::kString, source);
    value.data_ = bytes.data();
    value.size_ = static_cast<std::uint32_t>(bytes.size());
    value.object_ = Ref<Object>(owner);
    return value;
  }
  // `name` outlives the rendering, or is part of `owner`. `of`: what lacks the attribute.
  static Value Undefined(Absence why, std::string_view name = {}, Kind of = Kind::kMissing,
                         Object* owner = nullptr) {
    Value value = String(name, Source::kTemplate, owner);
    value.kind_ = Kind::kUndefined;
    value.absence_ = why;
    value.extra_ = static_cast<std::uint8_t>(of);
    return value;
  }
  static Value Function(int id) {
    Value value(Kind::kFunction, Source::kTemplate);
    value.integer_ = id;
    return value;
  }
  static Value Of(Kind kind, Object* object) {
    Value value(kind, Source::kTemplate);
    value.object_ = Ref<Object>(object);
    return value;
  }

  Kind kind() const { return kind_; }
  bool Is(Kind kind) const { return kind_ == kind; }
  bool IsString() const { return kind_ == Kind::kString; }
  bool IsNumber() const {
    return kind_ >= Kind::kBool && kind_ <= Kind::kFloat;
  }  // as Python: bool too
  bool IsIntegral() const { return kind_ == Kind::kBool || kind_ == Kind::kInteger; }

  // Of strings; of what else has a spelling (numbers, true, none), whose it is.
  Source source() const { return source_; }
  Value From(Source source) const {
    Value value = *this;
    value.source_ = source;
    return value;
  }

  std::int64_t integer() const { return integer_; }  // kBool, kInteger, kFunction
  std::uint64_t as_unsigned() const { return unsigned_; }
  double as_float() const { return float_; }
  std::string_view text() const { return {data_, size_}; }  // kString; the name of kUndefined
  Absence absence() const { return absence_; }
  Kind absent_from() const { return static_cast<Kind>(extra_); }

  // Strings that count as HTML already (`safe`, `escape`): adding to them escapes what is added.
  bool is_markup() const { return kind_ == Kind::kString && extra_ != 0; }
  Value AsMarkup(bool markup) const {
    Value value = *this;
    value.extra_ = markup ? 1 : 0;
    return value;
  }

  Object* object() const { return object_.get(); }
  template <typename T>
  T& As() const {  // the caller has looked at kind()
    return static_cast<T&>(*object_);
  }

 private:
  Value(Kind kind, Source source) : kind_(kind), source_(source) {}

  Kind kind_ = Kind::kMissing;
  Source source_ = Source::kTemplate;
  std::uint8_t extra_ = 0;  // strings: markup; undefined: the kind that lacks it
  Absence absence_ = Absence::kName;
  std::uint32_t size_ = 0;
  union {
    std::int64_t integer_ = 0;
    std::uint64_t unsigned_;
    double float_;
    const char* data_;
  };
  Ref<Object> object_;
};

// "'x' is undefined" and the like.
[[noreturn]] void FailUndefined(const Value& undefined);
// As Python names its type: "str", "dict".
std::string_view TypeName(const Value& value);

}  // namespace banyan::text::jinja
