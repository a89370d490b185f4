"""A page pool that is far too small for the work: everything ends, and ends right."""
import requests

import pytest

import banyan

PAGE = 16 * 8  # bytes, of the model without weights
SYSTEM = [32 + i % 95 for i in range(96)]
CONVERSATIONS = 24
MESSAGE, ANSWER = 60, 120
EMPTY_NAMESPACES = 1024  # kept, of those without pages
# All distinct tokens of two turns of each, and the pages of a tenth of them.
WORK = len(SYSTEM) + CONVERSATIONS * 2 * (MESSAGE + ANSWER)
TENTH = WORK // 10 // 16


def message(conversation, turn):
    return [32 + (conversation * 31 + turn * 7 + i * i) % 95 for i in range(MESSAGE)]


def converse(server):
    """Two turns of all conversations, those of one turn at once: what was answered, and the sums of
    prompt and cached tokens."""
    prompts = [SYSTEM + message(number, 0) for number in range(CONVERSATIONS)]
    texts, prompt_tokens, cached_tokens = [], 0, 0
    for turn in range(2):
        answer = server.complete(prompts, max_tokens=ANSWER, ignore_eos=True)
        assert [choice["finish_reason"] for choice in answer["choices"]] == ["length"] * len(prompts)
        assert answer["usage"]["completion_tokens"] == ANSWER * len(prompts)
        told = [choice["text"] for choice in answer["choices"]]
        texts += told
        prompt_tokens += answer["usage"]["prompt_tokens"]
        cached_tokens += banyan.cached(answer)
        prompts = [prompt + list(text.encode()) + message(number, 1)
                   for number, (prompt, text) in enumerate(zip(prompts, told, strict=True))]
    return texts, prompt_tokens, cached_tokens


def test_a_pool_of_a_tenth_of_the_work():
    with banyan.serving("--kv-memory", "256KiB") as ample:
        texts, prompt_tokens, _ = converse(ample)
        assert ample.metric("banyan_preemptions_total") == 0
    small = ["--kv-memory", TENTH * PAGE]
    with banyan.serving(*small) as tight:
        told, _, cached_tokens = converse(tight)
        assert told == texts, "the same answers"
        banyan.eventually(tight.is_idle, "all pages given up")
        assert tight.pool() == TENTH
        computed = tight.computed()
        metrics = tight.metrics()
        line = banyan.eventually(
            lambda: [l for l in tight.stderr().splitlines() if "requests preempted" in l],
            "the log says that requests were preempted")
    assert metrics["banyan_kv_evicted_pages_total"] > 0
    assert metrics["banyan_preemptions_total"] > 0
    assert metrics['vllm:num_preemptions_total{model_name="null"}'] == \
        metrics["banyan_preemptions_total"]
    assert "warn" in line[0] and "requests=" in line[0] and "output_tokens=" in line[0]
    # Once for each request, however often it was preempted.
    assert metrics["banyan_prompt_tokens_total"] == prompt_tokens
    assert metrics["banyan_cached_prompt_tokens_total"] == cached_tokens > 0
    with banyan.serving(*small, "--prefix-caching", "off") as off:
        told, _, cached_tokens = converse(off)
        assert told == texts
        assert cached_tokens == 0
        banyan.eventually(off.is_idle, "all pages given up")
        assert computed <= off.computed(), "the cache saves more than pressure costs"


def test_real_pages_survive_preemption():
    # Three answers that fit while they are short: 16 pages are 256 tokens, each comes to some 110.
    page = 16 * 23_040
    prompts = [f"{name} was a gardener who" for name in ("Ann", "Bob", "Eve")]
    ask = {"max_tokens": 100, "ignore_eos": True, "temperature": 1, "seed": 3, "logprobs": 1}
    with banyan.serving("--kv-memory", 16 * page, model=banyan.MODEL) as tight:
        answer = tight.complete(prompts, **ask)
        assert answer["usage"]["completion_tokens"] == 300
        banyan.eventually(tight.is_idle, "all pages given up")
        assert tight.metric("banyan_preemptions_total") > 0
    with banyan.serving("--kv-memory", "64MiB", model=banyan.MODEL) as ample:
        assert ample.complete(prompts, **ask)["choices"] == answer["choices"], "the same bits"
        assert ample.metric("banyan_preemptions_total") == 0


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_fills_the_pool_alone_says_so(stream):
    # 16 pages: 256 slots, and nothing attends to the last token.
    with banyan.serving("--kv-memory", 16 * PAGE) as server:
        prompt = "x" * 40
        body = {"prompt": prompt, "max_tokens": 5000, "ignore_eos": True, "stream": stream}
        answer = server.post("/v1/completions", body)
        assert answer.status_code == 200
        assert answer.text.count('"finish_reason":"length"') == 1
        output = 16 * 16 - len(prompt) + 1
        assert server.metric("banyan_generated_tokens_total") == output
        warning = f"prompt_tokens={len(prompt)} output_tokens={output}"
        lines = banyan.eventually(
            lambda: [l for l in server.stderr().splitlines() if "whole page pool" in l], "the warning")
        assert len(lines) == 1 and warning in lines[0] and "warn" in lines[0]
        server.complete(prompt, max_tokens=5, ignore_eos=True)
        server.complete(prompt, max_tokens=output, ignore_eos=True)
        banyan.eventually(lambda: server.stderr().count("request finished") == 3, "their lines")
        assert server.stderr().count("whole page pool") == 1, "what was asked for is no such end"


def test_many_salts_take_bounded_memory():
    with banyan.serving("--kv-memory", 64 * PAGE) as server, requests.Session() as session:
        def ask(number):
            body = {"prompt": [32 + number % 95] * 20, "max_tokens": 1, "cache_salt": f"salt {number}"}
            answer = session.post(server.url + "/v1/completions", json=body, timeout=banyan.PATIENCE)
            assert answer.status_code == 200, answer.text
            return answer.json()

        first = ask(0)
        most = 0
        for number in range(1, 3000):
            ask(number)
            if number % 100 == 0:
                most = max(most, server.metric("banyan_namespaces"))
        assert banyan.cached(ask(2999)) == 19, "the last ones are there"
        assert 64 < most <= EMPTY_NAMESPACES + 64 + 1
        again = ask(0)
        assert banyan.cached(again) == 0, "the first one is forgotten"
        assert again["choices"] == first["choices"]
