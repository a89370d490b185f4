#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/pre_tokenizer.h"

#include <pcre2.h>

#include <array>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/quote.h"

namespace banyan::text {
namespace {

// Unicode's White_Space property. PCRE2's own \s has U+180E besides, which is white space no more.
#define BANYAN_SPACE \
  R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"

struct Row {
  std::string_view name;
  const char* pattern;
};

constexpr std::array<Row, 1> kRows = {{
    // The reference cuts out every digit first and runs GPT-2's pattern over what lies between.
    // One pass does the same: a digit is a run of its own, and the look-ahead, which leaves the
    // last space of several to the word after it, takes a digit for the end of the text.
    {"smollm", R"(\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\p{L}\p{N})" BANYAN_SPACE R"(]+)"
               R"(|[)" BANYAN_SPACE R"(]+(?![^\p{N})" BANYAN_SPACE R"(])|[)" BANYAN_SPACE R"(]+)"},
}};

#undef BANYAN_SPACE

struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

std::string ErrorText(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

void PreTokenizer::FreeCode::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

absl::StatusOr<PreTokenizer> PreTokenizer::ForName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(row.pattern), PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    CHECK(code != nullptr);  // the patterns are ours
    // Where code cannot be generated, PCRE2 interprets the pattern: slower, the same runs.
    static_cast<void>(pcre2_jit_compile(code, PCRE2_JIT_COMPLETE));
    return PreTokenizer(code);
  }
  return absl::UnimplementedError(
      absl::StrCat("tokenizer.ggml.pre = ", Quote(name), ": this pre-tokenizer is not known"));
}

absl::Status PreTokenizer::Split(std::string_view text,
                                 absl::FunctionRef<void(std::string_view)> emit) const {
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(pcre2_match_data_create(1, nullptr));
  if (match == nullptr) return absl::ResourceExhaustedError("no memory to match a pattern");
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::size_t at = 0;
  while (at < text.size()) {
    // The text is known to be UTF-8; checking it again at each run would make the walk quadratic.
    const int found = pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK,
                                  match.get(), nullptr);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
      return absl::InternalError(absl::StrCat("pre-tokenizer: ", ErrorText(found)));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
    const std::size_t begin = found < 0 ? text.size() : bounds[0];
    // What no alternative matches is a run of its own.
    if (begin > at) emit(text.substr(at, begin - at));
    if (begin == text.size()) break;
    CHECK(bounds[1] > begin);  // no pattern of the table matches nothing
    emit(text.substr(begin, bounds[1] - begin));
    at = bounds[1];
  }
  return absl::OkStatus();
}

}  // namespace banyan::text
