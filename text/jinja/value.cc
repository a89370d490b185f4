#include "text/jinja/value.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "text/jinja/error.h"
#include "text/jinja/objects.h"

namespace banyan::text::jinja {
namespace {

std::string_view NameOf(Kind kind) {
  switch (kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInteger:
    case Kind::kUnsigned:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kSequence:
      return "list";
    case Kind::kMapping:
      return "dict";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kGenerator:
      return "generator";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kMethod:
      return "builtin_function_or_method";
    case Kind::kFunction:
      break;
  }
  return "function";
}

}  // namespace

std::string_view TypeName(const Value& value) {
  if (!value.Is(Kind::kSequence)) return NameOf(value.kind());
  const Sequence& sequence = value.As<Sequence>();
  switch (sequence.flavor) {
    case Flavor::kList:
      return "list";
    case Flavor::kRange:
      return "range";
    case Flavor::kView:
      return sequence.view_name;
    case Flavor::kTuple:
    case Flavor::kGroup:
      break;
  }
  return "tuple";
}

void FailUndefined(const Value& undefined) {
  const std::string name(undefined.text());
  switch (undefined.absence()) {
    case Absence::kName:
      Fail(absl::StrCat(Quote(name), " is undefined"));
    case Absence::kAttribute: {
      const std::string of =
          undefined.absent_from() == Kind::kNone
              ? "None"
              : absl::StrCat(std::string(NameOf(undefined.absent_from())), " object");
      Fail(absl::StrCat("'", of, "' has no attribute ", Quote(name)));
    }
    case Absence::kNoElse:
      Fail("the inline if-expression evaluated to false and no else section was defined");
    case Absence::kParameter:
      Fail(absl::StrCat("parameter ", Quote(name), " was not provided"));
    case Absence::kUnsafe:
      Fail(absl::StrCat("access to attribute ", Quote(name), " of '",
                        std::string(NameOf(undefined.absent_from())), "' object is unsafe"));
    case Absence::kEmpty:
      break;
  }
  Fail(name);
}

}  // namespace banyan::text::jinja
