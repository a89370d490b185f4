#include "text/jinja/text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "text/jinja/error.h"

namespace banyan::text::jinja {
namespace {

Source SourceOfRun(std::size_t index) {
  return index % 2 == 0 ? Source::kTemplate : Source::kMessage;
}

const Runs& RunsOf(const Value& string) { return string.As<StringObject>().runs(); }

// Where the string begins in its object's bytes.
std::size_t OffsetOf(const Value& string) {
  return static_cast<std::size_t>(string.text().data() - string.As<StringObject>().bytes().data());
}

std::size_t RunAt(const Runs& runs, std::size_t offset) {
  return static_cast<std::size_t>(std::upper_bound(runs.ends.begin(), runs.ends.end(), offset) -
                                  runs.ends.begin());
}

}  // namespace

void Runs::Add(std::size_t bytes, Source source) {
  if (bytes == 0) return;
  const std::size_t wanted = source == Source::kTemplate ? 0 : 1;  // the parity of its index
  if (ends.empty()) ends.push_back(0);
  if ((ends.size() - 1) % 2 != wanted) ends.push_back(ends.back());
  ends.back() += static_cast<std::uint32_t>(bytes);
}

void ForEachRun(const Value& string, absl::FunctionRef<void(std::string_view, Source)> run) {
  const std::string_view text = string.text();
  if (text.empty()) return;
  if (string.source() != Source::kMixed) return run(text, string.source());
  const Runs& runs = RunsOf(string);
  const std::size_t offset = OffsetOf(string);
  std::size_t done = 0;
  for (std::size_t i = RunAt(runs, offset); done < text.size(); ++i) {
    const std::size_t end = std::min<std::size_t>(runs.ends[i] - offset, text.size());
    run(text.substr(done, end - done), SourceOfRun(i));
    done = end;
  }
}

Source SourceAt(const Value& string, std::size_t byte) {
  if (string.source() != Source::kMixed) return string.source();
  return SourceOfRun(RunAt(RunsOf(string), OffsetOf(string) + byte));
}

Value Substring(const Value& string, std::size_t begin, std::size_t length) {
  const std::string_view text = string.text().substr(begin, length);
  Source source = string.source();
  if (source == Source::kMixed && !text.empty()) {
    const Runs& runs = RunsOf(string);
    const std::size_t offset = OffsetOf(string) + begin;
    const std::size_t run = RunAt(runs, offset);
    if (offset + text.size() <= runs.ends[run]) source = SourceOfRun(run);
  }
  if (text.empty()) source = Source::kTemplate;
  return Value::String(text, source, string.object()).AsMarkup(string.is_markup());
}

void Writer::Write(std::string_view bytes, Source source) {
  if (bytes.size() > kMaxStringBytes - bytes_.size()) {
    throw Error(ErrorKind::kTooMuch,
                absl::StrCat("it makes a string of more than ", kMaxStringBytes, " bytes"));
  }
  budget_->Step(1 + bytes.size() / kBytesPerStep);
  budget_->Hold(bytes.size());
  held_ += bytes.size();
  bytes_.append(bytes);
  runs_.Add(bytes.size(), source);
}

void Writer::Write(const Value& string) {
  ForEachRun(string, [&](std::string_view bytes, Source source) { Write(bytes, source); });
}

Value Writer::Finish() {
  if (bytes_.empty()) return Value::Static("");
  const bool single = runs_.single();
  const Source source = !single                  ? Source::kMixed
                        : runs_.ends.size() == 1 ? Source::kTemplate
                                                 : Source::kMessage;
  if (single) runs_.ends = {};
  const std::size_t more = sizeof(StringObject) + runs_.ends.size() * sizeof(std::uint32_t);
  budget_->Hold(more);
  auto* object = new StringObject(*budget_, std::exchange(held_, 0) + more, std::move(bytes_),
                                  std::move(runs_));
  return Value::String(object->bytes(), source, object);
}

std::vector<Piece> Writer::Pieces() {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < runs_.ends.size(); ++i) {
    const std::size_t end = runs_.ends[i];
    if (end > begin) {
      pieces.push_back(
          {bytes_.substr(begin, end - begin), i % 2 == 0 ? Origin::kTemplate : Origin::kMessage});
    }
    begin = end;
  }
  return pieces;
}

Value MakeString(Budget& budget, std::string_view bytes, Source source) {
  Writer writer(budget);
  writer.Write(bytes, source);
  return writer.Finish();
}

Value Concatenate(Budget& budget, const Value& left, const Value& right) {
  Writer writer(budget);
  writer.Write(left);
  writer.Write(right);
  return writer.Finish();
}

}  // namespace banyan::text::jinja
