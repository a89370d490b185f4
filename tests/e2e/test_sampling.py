"""How tokens are drawn, over the wire: seeds, log-probabilities, penalties, bounds of the length."""
import concurrent.futures
import math

import openai
import pytest

import banyan

QUESTION = [{"role": "user", "content": "Name a colour, an animal and a tree."}]


@pytest.fixture(scope="module")
def client(smol):
    return openai.OpenAI(base_url=smol.url + "/v1", api_key="none", max_retries=0)


def ask(client, messages=QUESTION, **members):
    return client.chat.completions.create(model="smol", messages=messages, **members)


def test_a_seed_gives_one_text_whatever_else_runs(smol, client):
    """Alone and cold, warm, among others, streamed: the same text; also with every method at work."""
    methods = dict(max_tokens=16, temperature=1.3, top_p=0.95, frequency_penalty=0.5,
                   presence_penalty=0.2,
                   extra_body={"top_k": 60, "min_p": 0.01, "repetition_penalty": 1.1,
                               "min_tokens": 16})
    # A first message of its own, so that nothing of it is cached.
    messages = [{"role": "system", "content": "Seeds decide."}, *QUESTION]

    def draw(seed):
        return ask(client, messages, seed=seed, **methods).choices[0].message.content

    first = {seed: draw(seed) for seed in range(4)}
    assert len(set(first.values())) > 1
    others = [[{"role": "user", "content": f"{i} " * (7 * i + 1)}] for i in range(6)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        noise = [pool.submit(ask, client, m, max_tokens=24, temperature=1) for m in others]
        again = {seed: pool.submit(draw, seed) for seed in (3, 1, 0, 2)}
        assert {seed: drawn.result() for seed, drawn in again.items()} == first
        for one in noise:
            one.result()
    stream = ask(client, messages, seed=2, stream=True, **methods)
    assert "".join(c.choices[0].delta.content or "" for c in stream) == first[2]
    with banyan.serving("--kv-memory", "32MiB", "--served-model-name", "smol", "--max-batch-tokens",
                        "16", "--max-running", "2", "--threads", "1",
                        model=banyan.MODEL) as other:
        elsewhere = openai.OpenAI(base_url=other.url + "/v1", api_key="none", max_retries=0)
        assert ask(elsewhere, messages, seed=1,
                   **methods).choices[0].message.content == first[1], "cold, chunked otherwise"


def entries(choice_logprobs):
    return choice_logprobs.content if choice_logprobs else []


def test_log_probabilities_belong_to_the_text(client):
    answer = ask(client, max_tokens=12, temperature=0, logprobs=True, top_logprobs=5).choices[0]
    content = answer.logprobs.content
    assert b"".join(bytes(e.bytes) for e in content).decode(errors="replace") == \
        answer.message.content
    for entry in content:
        assert len(entry.top_logprobs) == 5
        best = [t.logprob for t in entry.top_logprobs]
        assert best == sorted(best, reverse=True)
        assert sum(map(math.exp, best)) <= 1 + 1e-3
        assert (entry.token, entry.logprob) == (entry.top_logprobs[0].token, best[0]), "greedy"
    chunks = list(ask(client, max_tokens=12, temperature=0, logprobs=True, top_logprobs=5,
                      stream=True))
    streamed = [e for c in chunks for e in entries(c.choices[0].logprobs)]
    assert [e.model_dump() for e in streamed] == [e.model_dump() for e in content]
    for chunk in chunks:
        text = chunk.choices[0].delta.content or ""
        assert bool(entries(chunk.choices[0].logprobs)) == bool(text), "together"
    few = ask(client, max_tokens=3, temperature=0, logprobs=True).choices[0].logprobs.content
    assert [e.logprob for e in few] == [e.logprob for e in content[:3]]
    assert all(e.top_logprobs == [] for e in few)
    assert ask(client, max_tokens=3, temperature=0).choices[0].logprobs is None


def test_entries_end_where_a_stop_string_cuts_the_text(client):
    text = ask(client, max_tokens=12, temperature=0).choices[0].message.content
    stop = text[len(text) // 2:][:4]
    answer = ask(client, max_tokens=12, temperature=0, stop=stop, logprobs=True).choices[0]
    assert answer.finish_reason == "stop"
    assert answer.message.content == text[:text.index(stop)]
    joined = b"".join(bytes(e.bytes) for e in answer.logprobs.content).decode(errors="replace")
    assert joined.startswith(answer.message.content)
    *whole, last = answer.logprobs.content
    before = b"".join(bytes(e.bytes) for e in whole).decode(errors="replace")
    assert len(before) < len(answer.message.content), "each token has a part in the text"


def test_a_bias_decides(smol, client):
    cat, = smol.post("/tokenize", {"content": " cat"}).json()["tokens"]
    said = ask(client, max_tokens=4, temperature=1, logit_bias={str(cat): 100}).choices[0]
    assert said.message.content == " cat" * 4
    first = ask(client, max_tokens=1, temperature=0, logprobs=True).choices[0].logprobs.content[0]
    token, = smol.post("/tokenize", {"content": first.token}).json()["tokens"]
    other = ask(client, max_tokens=1, temperature=0, logit_bias={token: -100}).choices[0]
    assert other.message.content != first.token


def test_penalties_end_repetition(smol, client):
    cat, = smol.post("/tokenize", {"content": " cat"}).json()["tokens"]
    bias = {cat: 20}
    plain = ask(client, max_tokens=8, temperature=0, logit_bias=bias).choices[0].message.content
    assert plain.count(" cat") > 1
    once = ask(client, max_tokens=8, temperature=0, logit_bias=bias, extra_body={
        "repetition_penalty": 100}).choices[0].message.content
    assert once.count(" cat") < plain.count(" cat")


def test_top_k_of_one_is_greedy(client):
    greedy = ask(client, max_tokens=8, temperature=0).choices[0].message.content
    for only in ({"top_k": 1}, {"min_p": 1}):
        assert ask(client, max_tokens=8, temperature=2, seed=1,
                   extra_body=only).choices[0].message.content == greedy


def test_min_tokens_hold_off_the_end(null):
    # One token in 256 ends an answer of this model.
    ends = {i: null.chat(f"End of {i}", max_tokens=1000).output for i in range(6)}
    soonest = min(ends, key=ends.get)
    held = null.chat(f"End of {soonest}", max_tokens=1000, min_tokens=ends[soonest] + 5)
    assert held.output >= ends[soonest] + 5
    exactly = null.chat(f"End of {soonest}", max_tokens=400, min_tokens=400)
    assert (exactly.output, exactly.finish_reason) == (400, "length")


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("stream", [False, True])
def test_short_answers(null, field, count, stream):
    members = {field: count, "ignore_eos": True, "logprobs": True}
    if not stream:
        answer = null.chat("Short", **members)
        assert (answer.output, len(answer.text), answer.finish_reason) == (count, count, "length")
        assert len(answer.body["choices"][0]["logprobs"]["content"]) == count
        return
    events = null.stream("Short", stream_options={"include_usage": True}, **members)
    assert events[-2]["usage"]["completion_tokens"] == count
    assert len(banyan.text_of(events)) == count
    assert events[-3]["choices"][0]["finish_reason"] == "length"


def test_methods_that_are_not_there_are_refused_by_name(null):
    for name, value in {"typical_p": 0.5, "mirostat": 2, "dry_multiplier": 1, "xtc_probability": 0.5,
                        "tfs_z": 0.5, "top_n_sigma": 1, "use_beam_search": True}.items():
        answer = null.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Hi"}], name: value})
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == name
        assert name in answer.json()["error"]["message"]
