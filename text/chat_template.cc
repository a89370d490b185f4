#include "text/chat_template.h"

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "text/default_templates.h"
#include "text/jinja/program.h"
#include "text/reasoning.h"

namespace banyan::text {
namespace {

class JinjaTemplate final : public ChatTemplate {
 public:
  JinjaTemplate(jinja::Program program, Specials specials, std::optional<ReasoningMarks> reasoning,
                std::string name)
      : program_(std::move(program)),
        specials_(std::move(specials)),
        reasoning_(std::move(reasoning)),
        name_(std::move(name)) {}

  absl::StatusOr<std::vector<Piece>> Render(const Conversation& conversation) const override;
  const ReasoningMarks* reasoning() const override { return reasoning_ ? &*reasoning_ : nullptr; }
  std::string_view name() const override { return name_; }

 private:
  jinja::Program program_;
  Specials specials_;
  std::optional<ReasoningMarks> reasoning_;
  std::string name_;
};

absl::StatusOr<std::vector<Piece>> JinjaTemplate::Render(const Conversation& conversation) const {
  jinja::Variables variables;
  variables.now = conversation.now;
  const std::array<std::pair<std::string_view, const std::string*>, 7> tokens = {{
      {"bos_token", &specials_.bos_token},
      {"eos_token", &specials_.eos_token},
      {"unk_token", &specials_.unk_token},
      {"sep_token", &specials_.sep_token},
      {"pad_token", &specials_.pad_token},
      {"cls_token", &specials_.cls_token},
      {"mask_token", &specials_.mask_token},
  }};
  for (const auto& [name, spelling] : tokens) {
    if (!spelling->empty()) variables.strings.emplace_back(name, *spelling);
  }
  const boost::json::value messages = conversation.messages;
  const boost::json::value tools = conversation.tools;
  const boost::json::value add_generation_prompt = conversation.add_generation_prompt;
  // What is not there is None, as the transformers library passes it.
  variables.json.emplace_back("documents", nullptr);
  for (const auto& [name, value] : conversation.arguments) {
    variables.json.emplace_back(std::string_view(name), &value);
  }
  variables.json.emplace_back("messages", &messages);
  variables.json.emplace_back("tools", conversation.tools.empty() ? nullptr : &tools);
  variables.json.emplace_back("add_generation_prompt", &add_generation_prompt);
  return program_.Render(variables);
}

absl::StatusOr<std::unique_ptr<const ChatTemplate>> Make(std::string_view text,
                                                         const Specials& specials,
                                                         std::string name) {
  absl::StatusOr<jinja::Program> program = jinja::Program::Parse(text);
  if (!program.ok()) return program.status();
  return std::make_unique<const JinjaTemplate>(*std::move(program), specials,
                                               ReasoningMarksOf(text), std::move(name));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::Parse(std::string_view text,
                                                                        const Specials& specials) {
  return Make(text, specials, "given");
}

std::unique_ptr<const ChatTemplate> ChatTemplate::Default(
    const std::function<bool(std::string_view)>& has_control_token, const Specials& specials) {
  const DefaultTemplate& chosen = DefaultTemplateFor(has_control_token);
  auto made = Make(chosen.text, specials, absl::StrCat("default: ", std::string(chosen.name)));
  CHECK(made.ok());
  return *std::move(made);
}

absl::StatusOr<std::unique_ptr<const ChatTemplate>> ChatTemplate::Choose(
    std::string_view given, std::optional<std::string_view> from_file,
    const std::function<bool(std::string_view)>& has_control_token, const Specials& specials) {
  if (given.empty() && !from_file) return Default(has_control_token, specials);
  auto made =
      given.empty() ? Make(*from_file, specials, "from the file") : Make(given, specials, "given");
  if (made.ok()) return made;
  return absl::Status(made.status().code(), absl::StrCat(given.empty() ? "tokenizer.chat_template"
                                                                       : "the given chat template",
                                                         ": ", made.status().message()));
}

}  // namespace banyan::text
