"""Completions: exact in every count over the model without weights, real text over the default one."""
import concurrent.futures
import json
import socket

import openai
import pytest

import banyan


@pytest.fixture(scope="module")
def client(smol):
    return openai.OpenAI(base_url=smol.url + "/v1", api_key="none", max_retries=0)


def events(server, **body):
    answer = server.post("/v1/completions", {"stream": True, **body})
    assert answer.status_code == 200, answer.text
    lines = [line.removeprefix("data: ") for line in answer.content.decode().split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_the_four_kinds_of_prompt(null):
    one, two = [null.complete(p, max_tokens=8)["choices"][0]["text"] for p in ("One", "Two")]
    ids = [list(b"One"), list(b"Two")]
    assert null.complete(ids[0], max_tokens=8)["choices"][0]["text"] == one
    for several in (["One", "Two"], ids):
        answer = null.complete(several, max_tokens=8)
        assert [(c["index"], c["text"]) for c in answer["choices"]] == [(0, one), (1, two)]
        assert answer["object"] == "text_completion" and answer["id"].startswith("cmpl-")
        usage = answer["usage"]
        assert usage["prompt_tokens"] == 6
        assert usage["completion_tokens"] <= 16
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        assert usage["prompt_tokens_details"]["cached_tokens"] == 4, "all but the last token of each"


def test_as_many_prompts_as_are_taken(null):
    prompts = [f"prompt {i}" for i in range(128)]
    answer = null.complete(prompts, max_tokens=2, ignore_eos=True)
    assert [c["index"] for c in answer["choices"]] == list(range(128))
    assert answer["usage"]["completion_tokens"] == 256
    assert answer["choices"][77]["text"] == \
        null.complete(prompts[77], max_tokens=2, ignore_eos=True)["choices"][0]["text"]
    refused = null.post("/v1/completions", {"prompt": prompts + ["one more"]})
    assert refused.status_code == 400 and refused.json()["error"]["param"] == "prompt"


def test_no_tokens_asked_for_warm_the_cache(null):
    prompt = "a prompt that nobody asked before " * 3
    cold = null.complete(prompt, max_tokens=0)
    assert cold["choices"][0] == {"index": 0, "text": "", "logprobs": None, "finish_reason": "length"}
    assert cold["usage"]["completion_tokens"] == 0
    warm = null.complete(prompt, max_tokens=1)
    assert warm["usage"]["prompt_tokens_details"]["cached_tokens"] == len(prompt) - 1
    assert null.chat("Hi", max_tokens=0).output == 0


def test_streams_of_several_prompts(null):
    prompts = ["One", "Two", "Three"]
    whole = null.complete(prompts, max_tokens=40, echo=True)
    chunks = events(null, prompt=prompts, max_tokens=40, echo=True,
                    stream_options={"include_usage": True})
    assert chunks.pop()["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
    assert len({(c["id"], c["created"], c["model"], c["object"]) for c in chunks}) == 1
    for choice in whole["choices"]:
        mine = [c["choices"][0] for c in chunks if c["choices"][0]["index"] == choice["index"]]
        assert "".join(c["text"] for c in mine) == choice["text"]
        assert choice["text"].startswith(prompts[choice["index"]])
        reasons = [c["finish_reason"] for c in mine]
        assert reasons == [None] * (len(mine) - 1) + [choice["finish_reason"]]


def test_stop_token_ids_end_an_answer(null):
    full = null.complete("Stop here", max_tokens=20, ignore_eos=True)["choices"][0]["text"]
    stop = ord(full[9])
    answer = null.complete("Stop here", max_tokens=20, ignore_eos=True, stop_token_ids=[stop])
    at = full.index(full[9])
    assert answer["choices"][0]["text"] == full[:at]
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] == at + 1, "the token that ended it was computed"


def test_a_client_that_leaves_cancels_all_its_prompts(null):
    cancelled = 'banyan_requests_total{finish_reason="cancelled"}'
    with banyan.serving("--kv-memory", "8MiB") as server:
        body = json.dumps({"prompt": ["One", "Two", "Three"], "max_tokens": 200_000,
                           "ignore_eos": True}).encode()
        head = ("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        connection = server.raw(head + body)
        banyan.eventually(lambda: server.metric("banyan_running_requests") > 0, "it runs")
        connection.close()
        banyan.eventually(lambda: server.metric(cancelled) == 3, "all three cancelled")
        banyan.eventually(server.is_idle, "their pages are given up")


@pytest.mark.parametrize("body,param", [
    ({}, "prompt"),
    ({"prompt": ""}, "prompt"),
    ({"prompt": []}, "prompt"),
    ({"prompt": [1, 2, 100_000]}, "prompt[2]"),
    ({"prompt": ["a", 7]}, "prompt[1]"),
    ({"prompt": "a", "logprobs": 21}, "logprobs"),
    ({"prompt": "a", "n": 2}, "n"),
    ({"prompt": "a", "best_of": 2}, "best_of"),
    ({"prompt": "a", "suffix": "b"}, "suffix"),
    ({"prompt": "a", "typical_p": 0.5}, "typical_p"),
])
@pytest.mark.parametrize("stream", [False, True])
def test_bad_values_name_their_field(null, body, param, stream):
    answer = null.post("/v1/completions", {**body, "stream": stream})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "invalid_request"
    assert answer.json()["error"]["param"] == param


def test_the_capital_of_france(client):
    answer = client.completions.create(model="smol", prompt="The capital of France is",
                                       temperature=0, max_tokens=5)
    assert "Paris" in answer.choices[0].text
    stream = client.completions.create(model="smol", prompt="The capital of France is",
                                       temperature=0, max_tokens=5, stream=True)
    assert "".join(c.choices[0].text for c in stream) == answer.choices[0].text


def test_the_scores_of_a_prompt(client):
    """Echoed and scored cold, warm, and as a part of a longer prompt: the same numbers."""
    text = "The capital of France is Paris. The capital of Japan is"
    ask = dict(model="smol", prompt=text, temperature=0, max_tokens=3, echo=True, logprobs=5)
    first = client.completions.create(**ask).choices[0]
    assert first.text.startswith(text)
    scores = first.logprobs
    assert scores.token_logprobs[0] is None and scores.top_logprobs[0] is None
    assert "".join(scores.tokens) == first.text
    for token, logprob, top, offset in zip(scores.tokens[1:], scores.token_logprobs[1:],
                                           scores.top_logprobs[1:], scores.text_offset[1:]):
        assert first.text[offset:].startswith(token)
        assert top[token] == logprob <= 0
        assert 5 <= len(top) <= 6, "five, and the token where it is not among them"
        assert logprob <= max(top.values())
    again = client.completions.create(**ask).choices[0]
    assert again.logprobs == scores
    chunks = list(client.completions.create(**ask, stream=True))
    parts = [c.choices[0].logprobs for c in chunks if c.choices[0].logprobs]
    assert [t for p in parts for t in p.tokens] == scores.tokens
    assert [t for p in parts for t in p.token_logprobs] == scores.token_logprobs
    assert [t for p in parts for t in p.text_offset] == scores.text_offset
    # What was generated is scored as a prompt with the same probabilities.
    longer = client.completions.create(**{**ask, "prompt": first.text, "max_tokens": 0}).choices[0]
    assert longer.text == first.text
    assert longer.logprobs.token_logprobs == scores.token_logprobs


def test_tokens_and_text_are_the_same_prompt(smol, client):
    tokens = smol.post("/tokenize", {"prompt": "The capital of France is"}).json()["tokens"]
    assert smol.post("/detokenize", {"tokens": tokens}).json()["prompt"] == "The capital of France is"
    by_text = client.completions.create(model="smol", prompt="The capital of France is",
                                        temperature=0, max_tokens=4, echo=True)
    by_ids = client.completions.create(model="smol", prompt=tokens, temperature=0, max_tokens=4,
                                       echo=True)
    assert by_ids.choices[0].text == by_text.choices[0].text


def test_the_tokenizer_answers_while_every_place_is_taken():
    # One step of the engine is long after another; the tokenizer waits for none of them.
    with banyan.serving("--kv-memory", "8MiB", "--max-running", "1", "--max-queue", "1") as server:
        with server.raw_chat("run", max_tokens=500_000, ignore_eos=True), \
                concurrent.futures.ThreadPoolExecutor(8) as pool:
            banyan.eventually(lambda: server.metric("banyan_running_requests") == 1, "one runs")
            with server.raw_chat("wait", max_tokens=1):
                banyan.eventually(lambda: server.metric("banyan_waiting_requests") == 1, "one waits")
                counts = list(pool.map(
                    lambda i: server.post("/tokenize", {"content": "x" * i}).json()["count"],
                    range(50)))
                texts = list(pool.map(
                    lambda i: server.post("/detokenize", {"tokens": [97] * i}).json()["content"],
                    range(50)))
                assert server.metric("banyan_running_requests") == 1, "it still runs"
                assert server.metric("banyan_waiting_requests") == 1, "the other still waits"
        assert counts == list(range(50))
        assert texts == ["a" * i for i in range(50)]


def test_the_version(null):
    code, out, _ = banyan.run("--version")
    assert code == 0
    assert null.get("/version").json()["version"] in out
