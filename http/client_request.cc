#include "http/client_request.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/quote.h"

namespace banyan::http {
namespace {

bool IsTokenChar(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";  // RFC 9110, 5.6.2
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         kMarks.find(c) != std::string_view::npos;
}

bool Has(const Headers& headers, const char* name) {
  return std::any_of(headers.begin(), headers.end(), [name](const auto& header) {
    return absl::EqualsIgnoreCase(header.first, name);
  });
}

// Of requests to which servers expect a body, so that an empty one is announced.
bool BringsBody(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

absl::Status CheckHeaders(const Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (name.empty() || !std::all_of(name.begin(), name.end(), IsTokenChar)) {
      return absl::InvalidArgumentError("not the name of a header: " + Quote(name));
    }
    const bool clean = std::none_of(value.begin(), value.end(), [](char c) {
      return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t';
    });
    // The value may be a key: it is not repeated.
    if (!clean) {
      return absl::InvalidArgumentError("the value of the header " + name +
                                        " has a control character");
    }
  }
  for (const char* name : {"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive",
                           "Upgrade", "Expect", "TE", "Trailer", "Accept-Encoding"}) {
    if (Has(headers, name)) {
      return absl::InvalidArgumentError(absl::StrCat("the header ", name, " cannot be set"));
    }
  }
  return absl::OkStatus();
}

RequestWriter::RequestWriter(const ClientOptions& options)
    : base_path_(options.base.path), gives_type_(Has(options.headers, "Content-Type")) {
  if (!Has(options.headers, "Host")) {
    absl::StrAppend(&headers_, "Host: ", PlaceOf(options.base), "\r\n");
  }
  for (const auto& [name, value] : options.headers) {
    absl::StrAppend(&headers_, name, ": ", value, "\r\n");
  }
  if (!options.keep_alive) headers_ += "Connection: close\r\n";
}

std::string RequestWriter::Bytes(const ClientRequest& request) const {
  DCHECK(request.target.starts_with('/'));
  std::string bytes;
  bytes.reserve(base_path_.size() + headers_.size() + request.target.size() + request.body.size() +
                128);
  bytes += request.method;
  bytes += ' ';
  bytes += base_path_;
  bytes += request.target;
  bytes += " HTTP/1.1\r\n";
  bytes += headers_;
  if (!request.body.empty() && !gives_type_) bytes += "Content-Type: application/json\r\n";
  if (!request.body.empty() || BringsBody(request.method)) {
    absl::StrAppend(&bytes, "Content-Length: ", request.body.size(), "\r\n");
  }
  bytes += "\r\n";
  bytes += request.body;
  return bytes;
}

}  // namespace banyan::http
