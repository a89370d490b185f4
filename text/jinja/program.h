// A chat template, parsed once and rendered for each request. Immutable, thread-safe.
//
// The border of text/jinja: from here on errors are statuses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "absl/status/statusor.h"
#include "text/codec.h"

namespace banyan::text::jinja {

struct Template;

// What a template finds by name. Later ones hide earlier ones of the same name.
struct Variables {
  std::vector<std::pair<std::string_view, std::string_view>> strings{};  // the template's own
  // Came with the request. Null stands for None.
  std::vector<std::pair<std::string_view, const boost::json::value*>> json{};
  std::int64_t now = 0;  // seconds since 1970, for strftime_now
};

class Program {
 public:
  // kInvalidArgument with the line, where `text` is no template or uses what is not supported.
  static absl::StatusOr<Program> Parse(std::string_view text);

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  // kInvalidArgument with the template's own message where it raises one, or "the chat template
  // failed at line N: ...". kResourceExhausted past a bound of limits.h. The views in `variables`
  // are used until it returns.
  absl::StatusOr<std::vector<Piece>> Render(const Variables& variables) const;

 private:
  explicit Program(std::unique_ptr<const Template> parsed);

  std::unique_ptr<const Template> template_;
};

}  // namespace banyan::text::jinja
