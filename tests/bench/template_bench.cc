// Rendering alone: a conversation of 200 messages of about 400 bytes, with the default model's
// template and with a large one that has everything: tools, calls, reasoning, macros, namespaces.
#include <string>

#include "benchmark/benchmark.h"
#include "tests/text/toy_metadata.h"
#include "text/chat_template.h"

namespace banyan::text {
namespace {

constexpr char kLargeTemplate[] = R"(
{%- macro describe(name, schema, required) %}
{{- '- ' ~ name ~ ' (' ~ (schema.type if schema.type is string else schema.type|join(' or ')) }}
{{- ', required' if name in required else '' }})
{%- if schema.description %}: {{ schema.description | trim }}{% endif %}
{%- if schema.properties is defined %}
{%- for key, value in schema.properties.items() %}
{{ describe(key, value, schema.required | default([])) }}
{%- endfor %}
{%- endif %}
{%- endmacro %}
{%- macro text_of(content) %}
{%- if content is string %}{{ content }}
{%- elif content is iterable and content is not mapping %}
{%- for part in content if part.type == 'text' %}{{ part.text }}{% endfor %}
{%- endif %}
{%- endmacro %}
{%- set ns = namespace(last_user=-1, tools=0) %}
{%- for message in messages %}
{%- if message.role == 'user' and not text_of(message.content).startswith('<result>') %}
{%- set ns.last_user = loop.index0 %}
{%- endif %}
{%- endfor %}
{{- bos_token }}
{%- if tools %}
{{- '<|im_start|>system\n' }}
{%- if messages[0].role == 'system' %}{{ text_of(messages[0].content) + '\n\n' }}{% endif %}
{{- 'Tools, one a line:\n<tools>' }}
{%- for tool in tools %}
{{ tool | tojson }}
{%- for name, schema in tool.function.parameters.properties | dictsort %}
{{ describe(name, schema, tool.function.parameters.required) }}
{%- endfor %}
{%- endfor %}
{{- '\n</tools><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- set content = text_of(message.content) %}
{%- if message.role == 'system' and (tools or not loop.first) %}
{%- elif message.role == 'assistant' %}
{%- set reasoning = message.reasoning_content | default('', true) %}
{%- if '</think>' in content %}
{%- set reasoning = content.split('</think>')[0].split('<think>')[-1].strip('\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\n') %}
{%- endif %}
{{- '<|im_start|>assistant\n' }}
{%- if reasoning and loop.index0 > ns.last_user %}{{ '<think>\n' ~ reasoning ~ '\n</think>\n\n' }}{% endif %}
{{- content }}
{%- for call in message.tool_calls | default([], true) %}
{%- set function = call.function or call %}
{{- '\n<tool_call>\n{"name": "' ~ function.name ~ '", "arguments": ' }}
{{- function.arguments if function.arguments is string else function.arguments | tojson }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}
{%- set ns.tools = ns.tools + 1 %}
{%- if loop.first or loop.previtem.role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
{{- '\n<result>\n' ~ content ~ '\n</result>' }}
{%- if loop.last or loop.nextitem.role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}
{%- else %}
{{- '<|im_start|>' ~ message.role ~ '\n' ~ content ~ '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %})";

Conversation LongConversation(bool tools) {
  std::string words;
  while (words.size() < 400) words += "The quick brown fox jumps over the lazy dog, twice. ";
  Conversation conversation;
  for (int i = 0; i < 200; ++i) {
    const bool asks = i % 2 == 0;
    boost::json::object message = {{"role", asks ? "user" : "assistant"}, {"content", words}};
    if (tools && i % 8 == 3) {
      message["tool_calls"] = {
          {{"type", "function"},
           {"function", {{"name", "look"}, {"arguments", {{"where", "here"}, {"depth", i}}}}}}};
    }
    if (tools && i % 8 == 4) message["role"] = "tool";
    conversation.messages.push_back(std::move(message));
  }
  for (int i = 0; tools && i < 20; ++i) {
    conversation.tools.push_back(
        {{"type", "function"},
         {"function",
          {{"name", "look" + std::to_string(i)},
           {"description", words},
           {"parameters",
            {{"type", "object"},
             {"required", {"where"}},
             {"properties",
              {{"where", {{"type", "string"}, {"description", "A place. "}}},
               {"depth", {{"type", "integer"}, {"description", "How far. "}}}}}}}}}});
  }
  return conversation;
}

void Render(benchmark::State& state, const char* text, const Conversation& conversation) {
  const auto chat_template = ChatTemplate::Parse(text, {.bos_token = "<s>"});
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto pieces = (*chat_template)->Render(conversation);
    if (!pieces.ok()) {
      state.SkipWithError(std::string(pieces.status().message()).c_str());
      return;
    }
    for (const Piece& piece : *pieces) bytes += piece.text.size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void DefaultModel(benchmark::State& state) {
  Render(state, kSmolTemplate, LongConversation(false));
}
BENCHMARK(DefaultModel)->Unit(benchmark::kMicrosecond);

void LargeTemplate(benchmark::State& state) {
  Render(state, kLargeTemplate, LongConversation(true));
}
BENCHMARK(LargeTemplate)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace banyan::text
