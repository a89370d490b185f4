// Walks over UTF-8 text by the classes of its characters. For the files of split steps only.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/split_steps.h"
#include "text/unicode.h"

namespace banyan::text {

class SplitScanner {
 public:
  explicit SplitScanner(std::string_view text) : text_(text), table_(ClassTable::Get()) {}

  std::size_t size() const { return text_.size(); }
  std::string_view text() const { return text_; }

  // Length 0 and no classes past the end.
  Character At(std::size_t at) const {
    if (at >= text_.size()) return {};
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {.point = byte, .classes = table_.OfAscii(byte), .length = 1};
    Character character;
    character.point = DecodeUtf8(text_.substr(at), character.length);
    character.classes = table_.Of(character.point);
    return character;
  }
  bool Is(std::size_t at, char byte) const { return at < text_.size() && text_[at] == byte; }

  // The end of the run of characters from `at` that have any of the classes.
  std::size_t SkipAny(std::size_t at, CharClasses classes) const {
    return Skip(at, [=](CharClasses of) { return (of & classes) != 0; });
  }
  // ... that have none of them.
  std::size_t SkipNone(std::size_t at, CharClasses classes) const {
    return Skip(at, [=](CharClasses of) { return (of & classes) == 0; });
  }
  // ... at most `most` characters of them.
  std::size_t SkipAtMost(std::size_t at, CharClasses classes, int most) const {
    for (; most > 0; --most) {
      const Character character = At(at);
      if ((character.classes & classes) == 0) break;
      at += character.length;
    }
    return at;
  }

 private:
  template <typename Wanted>
  std::size_t Skip(std::size_t at, Wanted wanted) const {
    while (at < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[at]);
      if (byte < 0x80) {
        if (!wanted(table_.OfAscii(byte))) break;
        ++at;
        continue;
      }
      const Character character = At(at);
      if (!wanted(character.classes)) break;
      at += character.length;
    }
    return at;
  }

  std::string_view text_;
  const ClassTable& table_;
};

// Emits the matches and what lies between them. `match(scanner, at, character)` returns where the
// match that begins at `at`, with `character`, ends; `at` where there is none.
template <typename Match>
void SplitBy(std::string_view text, EmitRun emit, Match match) {
  const SplitScanner scanner(text);
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = scanner.At(at);
    const std::size_t end = match(scanner, at, character);
    if (end == at) {
      at += character.length;
      continue;
    }
    if (at > done) emit(text.substr(done, at - done));
    emit(text.substr(at, end - at));
    done = at = end;
  }
  if (done < text.size()) emit(text.substr(done));
}

}  // namespace banyan::text
