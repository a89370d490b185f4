"""The error table over a socket: the right status, decided before the first byte of a stream."""
import json

import pytest
import requests

import banyan

HELLO = [{"role": "user", "content": "Hi"}]


def expect(answer, status, code, param=None):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == code
    assert error["param"] == param
    assert error["message"]


@pytest.fixture(scope="module")
def small():
    """16 pages of 16 tokens: a pool that is smaller than the context."""
    with banyan.serving("--kv-memory", "2KiB") as server:
        yield server


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("body,param", [
    ({"messages": []}, "messages"),
    ({"messages": [*HELLO, {"role": "user", "content": 7}]}, "messages[1].content"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": HELLO, "temperature": 3}, "temperature"),
    ({"messages": HELLO, "cache_salt": ""}, "cache_salt"),
    ({"messages": HELLO, "cache_salt": "s" * 1025}, "cache_salt"),
    ({"messages": HELLO, "priority": 10}, "priority"),
    ({"messages": HELLO, "priority": "high"}, "priority"),
    ({"messages": HELLO, "max_tokens": -1}, "max_tokens"),
    ({"messages": HELLO, "max_completion_tokens": -1}, "max_completion_tokens"),
    ({"messages": HELLO, "max_tokens": 1, "min_tokens": 2}, "min_tokens"),
    ({"messages": HELLO, "top_logprobs": 1}, "top_logprobs"),
    ({"messages": HELLO, "logit_bias": {"hello": 1}}, "logit_bias"),
    ({"messages": HELLO, "stop": ["a"] * 17}, "stop"),
    ({"messages": HELLO, "tools": [{"type": "function"}]}, "tools"),
    ({"messages": HELLO, "n": 2}, "n"),
    ({"messages": HELLO, "response_format": {"type": "json_object"}}, "response_format"),
])
def test_bad_values_name_their_field(null, body, param, stream):
    expect(null.post("/v1/chat/completions", {**body, "stream": stream}), 400, "invalid_request",
           param)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nonsense", b'{"messages":[],"messages":[]}',
                                  b'{"messages":"\xff"}', b"[" * 100_000])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"])
def test_malformed_json(null, path, body):
    answer = requests.post(null.url + path, data=body, headers={"Content-Type": "application/json"},
                           timeout=banyan.PATIENCE)
    expect(answer, 400, "invalid_request")


@pytest.mark.parametrize("stream", [False, True])
def test_unknown_model(null, stream):
    body = {"messages": HELLO, "model": "gpt", "stream": stream}
    expect(null.post("/v1/chat/completions", body), 404, "model_not_found", "model")
    expect(null.get("/v1/models/gpt"), 404, "model_not_found", "model")


def test_unknown_route_method_and_media_type(null):
    expect(null.get("/v1/nothing"), 404, "not_found")
    answer = null.get("/v1/chat/completions")
    expect(answer, 405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]
    expect(requests.post(null.url + "/v1/chat/completions", data=json.dumps({"messages": HELLO}),
                         headers={"Content-Type": "text/plain"}, timeout=banyan.PATIENCE),
           415, "unsupported_media_type")


def test_headers_and_bodies_have_limits(null):
    expect(requests.get(null.url + "/health", headers={"X-Long": "x" * 20_000},
                        timeout=banyan.PATIENCE), 431, "headers_too_large")
    with null.raw(b"POST /tokenize HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                  b"Content-Length: 99999999\r\n\r\n") as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_the_text_to_tokenize_is_bounded(null):
    at = 1 << 20
    assert null.post("/tokenize", {"content": "x" * (at - 1)}).json()["count"] == at - 1
    assert null.post("/tokenize", {"content": "x" * at}).json()["count"] == at
    expect(null.post("/tokenize", {"content": "x" * (at + 1)}), 400, "invalid_request", "content")


@pytest.mark.parametrize("stream", [False, True])
def test_the_pool_bounds_the_prompt(small, stream):
    slots = 16 * 16
    overhead = small.chat("", max_tokens=1).prompt

    def ask(prompt_tokens, **members):
        text = "x" * (prompt_tokens - overhead)
        body = {"messages": [{"role": "user", "content": text}], "stream": stream, **members}
        return small.post("/v1/chat/completions", body)

    expect(ask(slots), 400, "context_length_exceeded", "messages")
    assert ask(slots - 1).status_code == 200, "the prompt and one more token fit"
    expect(ask(slots), 400, "context_length_exceeded", "messages")
    assert ask(slots - 2, max_tokens=1).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_the_context_bounds_prompt_and_max_tokens(null, stream):
    context = null.get("/v1/models").json()["data"][0]["max_model_len"]
    prompt = null.chat("Hi", max_tokens=1).prompt
    body = {"messages": HELLO, "stream": stream, "stop": ["a", "e", "i", "o", "u"]}
    for field in "max_tokens", "max_completion_tokens":
        over = null.post("/v1/chat/completions", {**body, field: context - prompt + 1})
        expect(over, 400, "context_length_exceeded", field)
    at = null.post("/v1/chat/completions", {**body, "max_tokens": context - prompt})
    assert at.status_code == 200


def test_the_pool_ends_an_answer_that_fills_it(small):
    answer = small.chat("Hi", max_tokens=5000, ignore_eos=True)
    assert answer.finish_reason == "length"
    assert answer.prompt + answer.output - 1 == 16 * 16


@pytest.mark.parametrize("stream", [False, True])
def test_a_full_queue_says_when_to_come_back(stream):
    # One runs, for long enough; one waits; one more is one too many.
    with banyan.serving("--kv-memory", "8MiB", "--max-running", "1", "--max-queue", "1") as server:
        running = server.raw_chat("run", max_tokens=1_000_000, ignore_eos=True)
        banyan.eventually(lambda: server.metric("banyan_running_requests") == 1, "the first runs")
        waiting = server.raw_chat("wait", max_tokens=1)
        banyan.eventually(lambda: server.metric("banyan_waiting_requests") == 1, "the second waits")
        answer = server.post("/v1/chat/completions", {"messages": HELLO, "stream": stream})
        expect(answer, 429, "queue_full")
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert answer.json()["error"]["type"] == "rate_limit_error"
        running.close()
        with waiting:
            assert waiting.recv(100).startswith(b"HTTP/1.1 200 "), "whoever waited is served"
        assert server.chat("Hi", max_tokens=1).output == 1
