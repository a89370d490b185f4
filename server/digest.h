// SHA-256 (FIPS 180-4) of bytes as they come.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace banyan::server {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::span<const char> bytes);
  // Of all that was added, in lower-case hexadecimal; once.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace banyan::server
