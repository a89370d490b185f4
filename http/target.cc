#include "http/target.h"

#include "absl/strings/match.h"

namespace banyan::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

// "http://host/path" to "/path"; other targets stay as they are.
std::string_view WithoutAuthority(std::string_view target) {
  constexpr std::string_view kSchemes[] = {"http://", "https://"};
  for (const std::string_view scheme : kSchemes) {
    if (target.size() < scheme.size()) continue;
    const std::string_view start = target.substr(0, scheme.size());
    if (!absl::EqualsIgnoreCase({start.data(), start.size()}, {scheme.data(), scheme.size()})) {
      continue;
    }
    const std::size_t end = target.find_first_of("/?", scheme.size());
    if (end == std::string_view::npos) return "/";
    return target[end] == '/' ? target.substr(end) : std::string_view();
  }
  return target;
}

}  // namespace

std::optional<Target> ParseTarget(std::string_view target) {
  target = WithoutAuthority(target);
  if (!target.starts_with('/') || target.find('#') != std::string_view::npos) return std::nullopt;

  const std::size_t question = target.find('?');
  std::optional<std::string> path = PercentDecode(target.substr(0, question));
  if (!path) return std::nullopt;
  Target parsed;
  parsed.path = *std::move(path);
  if (question != std::string_view::npos) parsed.query = target.substr(question + 1);
  return parsed;
}

}  // namespace banyan::http
