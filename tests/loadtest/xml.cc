#include "tests/loadtest/xml.h"

#include <regex>
#include <vector>

namespace banyan::loadtest {
namespace {

std::string Fault(const char* what, std::string_view rest) {
  return std::string(what) + ": " + std::string(rest.substr(0, 60));
}

}  // namespace

std::string XmlFault(std::string_view markup) {
  // Bounded parts, because std::regex goes deep on long ones.
  static const std::regex kTag(
      R"re(<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z0-9-]+="[^"<]*")*)\s*(/?)>)re");
  static const std::regex kEntity(R"(&(amp|lt|gt|quot|#[0-9]+);)");
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < markup.size()) {
    const std::string_view rest = markup.substr(at);
    if (rest.starts_with("<!DOCTYPE html>")) {
      at += 15;
    } else if (rest.front() == '&') {
      std::cmatch match;
      if (!std::regex_search(rest.data(), rest.data() + std::min<std::size_t>(rest.size(), 12),
                             match, kEntity, std::regex_constants::match_continuous)) {
        return Fault("a stray &", rest);
      }
      at += static_cast<std::size_t>(match.length());
    } else if (rest.front() == '<') {
      // A path's data is the long attribute: its quoted text is skipped by hand.
      std::string tag;
      std::size_t end = 0;
      bool quoted = false;
      for (; end < rest.size() && (quoted || rest[end] != '>'); ++end) {
        if (rest[end] == '"') quoted = !quoted;
        if (quoted && rest[end] == '<') return Fault("a < in an attribute", rest);
        if (!quoted || rest[end] == '"') tag += rest[end];
      }
      if (end == rest.size()) return Fault("an open tag at the end", rest);
      tag += '>';
      std::smatch match;
      if (!std::regex_match(tag, match, kTag)) return Fault("not a tag", rest);
      const bool closes = match[1].length() > 0;
      if (closes) {
        if (open.empty() || open.back() != match[2]) return Fault("closes what is not open", rest);
        open.pop_back();
      } else if (match[4].length() == 0) {
        open.push_back(match[2]);
      }
      at += end + 1;
    } else {
      at += std::min(rest.find_first_of("<&"), rest.size());
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

}  // namespace banyan::loadtest
