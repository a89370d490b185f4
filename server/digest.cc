#include "server/digest.h"

#include <openssl/evp.h>

#include <array>
#include <string_view>

#include "absl/strings/escaping.h"
#include "base/check.h"

namespace banyan::server {

struct Sha256::State {
  struct Free {
    void operator()(EVP_MD_CTX* freed) const { EVP_MD_CTX_free(freed); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context{EVP_MD_CTX_new()};
};

// The library fails only without memory or without its own algorithms.
Sha256::Sha256() : state_(std::make_unique<State>()) {
  CHECK(state_->context != nullptr);
  CHECK(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Add(std::span<const char> bytes) {
  CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) == 1);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace banyan::server
