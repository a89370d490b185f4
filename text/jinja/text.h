// Strings whose bytes know their origin.
//
// Most strings come from one place and share the bytes they were cut from. A string with bytes of
// both origins has an object with the runs; a part of it keeps the object, and its place in the
// bytes tells which runs are its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "text/codec.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

// Bytes of alternating origin: run i ends at ends[i]; the first is the template's, and may be
// empty.
struct Runs {
  std::vector<std::uint32_t> ends;

  void Add(std::size_t bytes, Source source);  // kTemplate or kMessage
  bool single() const { return ends.size() <= 1 || (ends.size() == 2 && ends[0] == 0); }
};

class StringObject final : public Object {
 public:
  StringObject(Budget& budget, std::size_t held, std::string bytes, Runs runs)
      : Object(budget, held), bytes_(std::move(bytes)), runs_(std::move(runs)) {}

  std::string_view bytes() const { return bytes_; }
  const Runs& runs() const { return runs_; }

 private:
  std::string bytes_;
  Runs runs_;  // of all bytes; empty where they have one origin
};

// In order, with neighbours of different sources (kTemplate or kMessage).
void ForEachRun(const Value& string,
                absl::FunctionRef<void(std::string_view bytes, Source source)> run);
// kTemplate or kMessage.
Source SourceAt(const Value& string, std::size_t byte);

// Bytes [begin, begin + length) of `string`; shares them.
Value Substring(const Value& string, std::size_t begin, std::size_t length);

// Builds a string. Within the bounds at every moment.
class Writer {
 public:
  explicit Writer(Budget& budget) : budget_(&budget) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { budget_->Release(held_); }

  void Write(std::string_view bytes, Source source = Source::kTemplate);  // not kMixed
  void Write(const Value& string);
  std::size_t size() const { return bytes_.size(); }
  Budget& budget() const { return *budget_; }

  Value Finish();               // once; markup is up to the caller
  std::vector<Piece> Pieces();  // instead of Finish

 private:
  Budget* budget_;
  std::size_t held_ = 0;
  std::string bytes_;
  Runs runs_;
};

// A short string of one source.
Value MakeString(Budget& budget, std::string_view bytes, Source source = Source::kTemplate);
Value Concatenate(Budget& budget, const Value& left, const Value& right);

// What is written for two values together: a message's where either is.
inline Source Both(Source a, Source b) {
  return a == Source::kTemplate && b == Source::kTemplate ? Source::kTemplate : Source::kMessage;
}

}  // namespace banyan::text::jinja
