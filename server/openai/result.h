// A value, or the error that the client is told.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "http/server.h"

namespace banyan::server::openai {

template <class T>
class Result {
 public:
  Result(T value) : held_(std::move(value)) {}            // NOLINT: converts, as StatusOr does
  Result(http::Error error) : held_(std::move(error)) {}  // NOLINT

  bool ok() const { return std::holds_alternative<T>(held_); }
  const http::Error& error() const { return std::get<http::Error>(held_); }
  T& operator*() { return std::get<T>(held_); }
  const T& operator*() const { return std::get<T>(held_); }
  T* operator->() { return &std::get<T>(held_); }
  const T* operator->() const { return &std::get<T>(held_); }

 private:
  std::variant<T, http::Error> held_;
};

// 400 invalid_request with the field at fault.
inline http::Error Invalid(std::string param, std::string message) {
  return http::Error{.status = 400,
                     .code = "invalid_request",
                     .message = std::move(message),
                     .param = std::move(param)};
}

}  // namespace banyan::server::openai
