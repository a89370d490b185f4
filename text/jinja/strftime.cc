#include "text/jinja/strftime.h"

#include <algorithm>
#include <array>
#include <ctime>

namespace banyan::text::jinja {
namespace {

constexpr std::string_view kFlags = "-_0^#";
constexpr std::string_view kDirectives = "aAbBcdHIjmMpSUwWxXyYGuVCDeFgGhklnPrRsTt%";

}  // namespace

std::string FormatTime(std::string_view format, std::int64_t seconds) {
  // Years of four digits, whatever the clock says.
  constexpr std::int64_t kLast = 253402300799;
  const std::time_t time = std::clamp<std::int64_t>(seconds, 0, kLast);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    std::size_t end = i + 1;
    if (end < format.size() && kFlags.find(format[end]) != std::string_view::npos) ++end;
    const char directive = end < format.size() ? format[end] : '\0';
    if (directive == 'f') {
      out += "000000";  // microseconds
    } else if (directive == 'z' || directive == 'Z') {
      // A time that names no zone, as datetime.now().
    } else if (directive != '\0' && kDirectives.find(directive) != std::string_view::npos) {
      const std::string one(format.substr(i, end + 1 - i));
      std::array<char, 64> buffer;
      out.append(buffer.data(), std::strftime(buffer.data(), buffer.size(), one.c_str(), &parts));
    } else {
      out += format.substr(i, end + 1 - i);
    }
    i = end;
  }
  return out;
}

}  // namespace banyan::text::jinja
