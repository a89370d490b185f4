#include "text/default_templates.h"

#include <algorithm>
#include <array>

namespace banyan::text {
namespace {

// Contents that are lists of parts count as the text of their parts. In each of them.
#define CONTENT_OF                                             \
  "{%- macro content_of(message) %}"                           \
  "{%- if message.content is string %}{{ message.content }}"   \
  "{%- elif message.content is iterable %}"                    \
  "{%- for part in message.content if part.text is defined %}" \
  "{{ part.text }}{% endfor %}{% endif %}{% endmacro %}"

struct Row {
  DefaultTemplate chosen;
  std::array<std::string_view, 2> tokens;  // of the family; empty: none
};

constexpr std::array<Row, 4> kRows = {{
    // https://github.com/openai/openai-python/blob/release-v0.28.0/chatml.md
    {{"ChatML",
      CONTENT_OF "{%- for message in messages %}"
                 "{{ '<|im_start|>' + message.role + '\n' + content_of(message) + '<|im_end|>\n' }}"
                 "{%- endfor %}"
                 "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
     {"<|im_start|>", "<|im_end|>"}},
    // https://ai.google.dev/gemma/docs/core/prompt-structure: what the system says stands before
    // the
    // first turn's text.
    {{"Gemma", CONTENT_OF
      "{%- set ns = namespace(system='') %}"
      "{%- for message in messages %}"
      "{%- if message.role == 'system' %}{% set ns.system = content_of(message) + '\n\n' %}"
      "{%- else %}"
      "{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' + "
      "ns.system + content_of(message) | trim + '<end_of_turn>\n' }}"
      "{%- set ns.system = '' %}"
      "{%- endif %}{% endfor %}"
      "{%- if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"},
     {"<start_of_turn>", "<end_of_turn>"}},
    // https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-3/
    {{"Llama 3", CONTENT_OF "{%- for message in messages %}"
                            "{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + "
                            "content_of(message) | trim + '<|eot_id|>' }}"
                            "{%- endfor %}"
                            "{%- if add_generation_prompt %}"
                            "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"},
     {"<|start_header_id|>", "<|eot_id|>"}},
    {{"plain", CONTENT_OF "{%- for message in messages %}"
                          "{{ message.role | capitalize + ': ' + content_of(message) + '\n\n' }}"
                          "{%- endfor %}"
                          "{%- if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"},
     {}},
}};

#undef CONTENT_OF

}  // namespace

const DefaultTemplate& DefaultTemplateFor(
    const std::function<bool(std::string_view)>& has_control_token) {
  for (const Row& row : kRows) {
    const bool known = std::ranges::all_of(row.tokens, [&](std::string_view token) {
      return token.empty() || has_control_token(token);
    });
    if (known) return row.chosen;
  }
  return kRows.back().chosen;
}

}  // namespace banyan::text
