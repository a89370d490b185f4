// ParseUrl and PlaceOf of client.h.
#include <algorithm>
#include <string>

#include <boost/asio/ip/address_v6.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "http/client.h"

namespace banyan::http {
namespace {

absl::Status Bad(std::string_view url, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("not a base URL: ", Quote(url), ": ", why));
}

bool TakePrefixIgnoringCase(std::string_view prefix, std::string_view* text) {
  if (!absl::StartsWithIgnoreCase({text->data(), text->size()}, {prefix.data(), prefix.size()})) {
    return false;
  }
  text->remove_prefix(prefix.size());
  return true;
}

bool IsName(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

bool IsIpv6(const std::string& host) {
  boost::system::error_code error;
  boost::asio::ip::make_address_v6(host, error);
  return !error && host.find('%') == std::string::npos;
}

bool ParsePort(const std::string& digits, std::uint16_t* port) {
  std::uint32_t number = 0;
  const bool plain = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  if (!plain || !absl::SimpleAtoi(digits, &number) || number < 1 || number > 65535) return false;
  *port = static_cast<std::uint16_t>(number);
  return true;
}

}  // namespace

absl::StatusOr<Url> ParseUrl(std::string_view url) {
  Url parsed;
  std::string_view rest = url;
  if (TakePrefixIgnoringCase("https://", &rest)) {
    parsed.tls = true;
    parsed.port = 443;
  } else if (!TakePrefixIgnoringCase("http://", &rest)) {
    return Bad(url, "it begins with neither http:// nor https://");
  }
  for (const char c : rest) {
    if (c <= ' ' || c > '~') return Bad(url, "it has a character that URLs do not have");
    if (c == '?' || c == '#') return Bad(url, "a base URL has no query and no fragment");
  }

  std::string_view place = rest.substr(0, rest.find('/'));
  std::string_view path = rest.substr(place.size());
  if (place.find('@') != std::string_view::npos) {
    return Bad(url, "user names are not supported; keys go into headers");
  }
  std::size_t host_end = 0;
  if (place.starts_with('[')) {
    host_end = place.find(']');
    if (host_end == std::string_view::npos) return Bad(url, "the bracket is not closed");
    parsed.host = place.substr(1, host_end - 1);
    if (!IsIpv6(parsed.host)) return Bad(url, "there is no IPv6 address in the brackets");
    ++host_end;
  } else {
    host_end = std::min(place.find(':'), place.size());
    parsed.host = place.substr(0, host_end);
    if (!IsName(parsed.host)) return Bad(url, "it has no host");
  }
  place.remove_prefix(host_end);
  if (!place.empty() &&
      (place[0] != ':' || !ParsePort(std::string(place.substr(1)), &parsed.port))) {
    return Bad(url, "a port is a number from 1 to 65535");
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  parsed.path = path;
  return parsed;
}

std::string PlaceOf(const Url& url) {
  std::string place = url.host;
  if (place.find(':') != std::string::npos) place = absl::StrCat("[", place, "]");
  if (url.port != (url.tls ? 443 : 80)) absl::StrAppend(&place, ":", url.port);
  return place;
}

}  // namespace banyan::http
