// A certificate that signs itself, made anew for each test: there is no key to keep.
#pragma once

#include <memory>
#include <string>

#include <openssl/ssl.h>

namespace banyan::http {

class Certificate {
 public:
  // `names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1".
  explicit Certificate(const std::string& names);
  ~Certificate();
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  const std::string& file() const { return file_; }    // PEM
  SSL_CTX* context() const { return context_.get(); }  // of a server that has it

 private:
  std::string file_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{nullptr, &::SSL_CTX_free};
};

}  // namespace banyan::http
