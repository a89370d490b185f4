// Renders templates in few words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "text/jinja/program.h"

namespace banyan::text::jinja {

inline std::string Joined(const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& piece : pieces) text += piece.text;
  return text;
}

inline absl::StatusOr<std::string> Rendered(std::string_view text,
                                            const Variables& variables = {}) {
  const absl::StatusOr<Program> program = Program::Parse(text);
  if (!program.ok()) return program.status();
  const auto pieces = program->Render(variables);
  if (!pieces.ok()) return pieces.status();
  return Joined(*pieces);
}

}  // namespace banyan::text::jinja
