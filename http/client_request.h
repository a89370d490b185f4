// The bytes of a client's requests. Knows no socket.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "http/client.h"

namespace banyan::http {

// kInvalidArgument for what is no header, or is one that the client itself answers for: lengths,
// codings and the connection.
absl::Status CheckHeaders(const Headers& headers);

// What all requests of a client share.
class RequestWriter {
 public:
  explicit RequestWriter(const ClientOptions& options);

  // Head and body.
  std::string Bytes(const ClientRequest& request) const;

 private:
  const std::string base_path_;
  std::string headers_;      // lines
  bool gives_type_ = false;  // they have a Content-Type
};

}  // namespace banyan::http
