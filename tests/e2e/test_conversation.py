"""What a request says to the chat template, and what the template says back."""
import openai
import pytest

import banyan

STRICT = """{%- for message in messages -%}
{%- if loop.index0 % 2 == 0 and message.role != 'user' -%}
{{ raise_exception('the turns must alternate, not "' + message.role + '"') }}
{%- endif -%}
{{ message.role }}: {{ message.content }}
{% endfor -%}
{%- if hang -%}{%- for a in range(1000) -%}{%- for b in range(1000) -%}
{%- for c in range(1000) -%}{%- endfor -%}{%- endfor -%}{%- endfor -%}{%- endif -%}
{%- if shout is defined -%}{{ shout }}{%- endif -%}
{%- if add_generation_prompt -%}assistant:{%- endif -%}"""

# The answer begins in the reasoning, as some of DeepSeek's do.
THINKING = """{%- for message in messages -%}
{%- if message.reasoning_content -%}<think>{{ message.reasoning_content }}</think>{%- endif -%}
{{ message.content }}{%- for call in message.tool_calls or [] -%}
[{{ call.function.name }} {{ call.function.arguments.city }}]{%- endfor -%}
{%- endfor -%}{%- for tool in tools or [] -%}({{ tool.function.name }}){%- endfor -%}
{%- if add_generation_prompt -%}<think>{%- endif -%}"""


def serving(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("template") / "template.jinja"
    path.write_text(text)
    return banyan.serving("--kv-memory", "32MiB", "--served-model-name", "smol", "--chat-template",
                          path, model=banyan.MODEL)


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    with serving(tmp_path_factory, STRICT) as server:
        yield server


@pytest.fixture(scope="module")
def thinking(tmp_path_factory):
    with serving(tmp_path_factory, THINKING) as server:
        yield server


def rendered(server, messages, **members):
    tokens = server.post("/tokenize", {"messages": messages, **members}).json()["tokens"]
    return server.post("/detokenize", {"tokens": tokens}).json()["prompt"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/tokenize"])
def test_what_a_template_raises_is_the_clients_to_know(strict, path, stream):
    messages = [{"role": "system", "content": "No."}]
    answer = strict.post(path, {"messages": messages, "stream": stream})
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "message": 'the turns must alternate, not "system"', "type": "invalid_request_error",
        "param": "messages", "code": "invalid_request"}


def test_a_message_in_an_exception_is_cut(strict):
    answer = strict.post("/tokenize", {"messages": [{"role": "é" * 5000, "content": "x"}]})
    assert answer.status_code == 400
    assert 1000 < len(answer.json()["error"]["message"].encode()) <= 1024


def test_a_template_cannot_hang_the_server(strict):
    answer = strict.post("/tokenize", {"messages": [{"role": "user", "content": "x"}],
                                       "chat_template_kwargs": {"hang": True}})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "messages"
    assert "stopped" in answer.json()["error"]["message"]


def test_the_request_has_a_say(strict):
    messages = [{"role": "user", "content": "Hi"}]
    assert rendered(strict, messages) == "user: Hi\nassistant:"
    assert rendered(strict, messages, add_generation_prompt=False) == "user: Hi\n"
    assert rendered(strict, messages, chat_template_kwargs={"shout": "HEY"}) == \
        "user: Hi\nHEYassistant:"
    answer = strict.post("/v1/chat/completions", {
        "messages": messages, "max_tokens": 1, "chat_template_kwargs": {"shout": "HEY"}})
    count = strict.post("/tokenize", {
        "messages": messages, "chat_template_kwargs": {"shout": "HEY"}}).json()["count"]
    assert answer.json()["usage"]["prompt_tokens"] == count


def test_what_an_argument_spells_is_no_control_token(strict):
    messages = [{"role": "user", "content": "Hi"}]
    plain = strict.post("/tokenize", {"messages": messages}).json()["count"]
    shouted = strict.post("/tokenize", {"messages": messages, "chat_template_kwargs": {
        "shout": "<|im_end|>"}}).json()["count"]
    assert shouted - plain > 1


def test_a_history_of_tool_calls(thinking):
    history = [{"role": "user", "content": "Weather?"},
               {"role": "assistant", "content": None, "reasoning_content": "Ask.",
                "tool_calls": [{"id": "c", "type": "function", "function": {
                    "name": "look", "arguments": '{"city": "Oslo"}'}}]},
               {"role": "tool", "tool_call_id": "c", "content": "Rain."}]
    tools = [{"type": "function", "function": {"name": "look"}}]
    assert rendered(thinking, history, tools=tools, add_generation_prompt=False) == \
        "Weather?<think>Ask.</think>[look Oslo]Rain.(look)"
    body = {"messages": history, "tools": tools, "max_tokens": 1}
    refused = thinking.post("/v1/chat/completions", body)
    assert refused.status_code == 400 and refused.json()["error"]["param"] == "tools"
    answer = thinking.post("/v1/chat/completions", {**body, "tool_choice": "none"})
    assert answer.status_code == 200, answer.text


def test_reasoning_is_beside_the_content(thinking):
    client = openai.OpenAI(base_url=thinking.url + "/v1", api_key="none", max_retries=0)
    ask = dict(model="smol", messages=[{"role": "user", "content": "What grows on trees?"}],
               temperature=0, max_tokens=12)
    answer = client.chat.completions.create(**ask)
    message = answer.choices[0].message
    assert message.reasoning_content and message.content == ""
    assert answer.usage.completion_tokens_details.reasoning_tokens == 12
    chunks = list(client.chat.completions.create(**ask, stream=True))
    deltas = [c.choices[0].delta for c in chunks]
    assert "".join(getattr(d, "reasoning_content", None) or "" for d in deltas) == \
        message.reasoning_content
    assert "".join(d.content or "" for d in deltas) == ""
    assert chunks[-1].choices[0].finish_reason == answer.choices[0].finish_reason
