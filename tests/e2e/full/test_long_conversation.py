"""A conversation of five times the model's context, which goes on in constant memory: for ./dev full, as its prompts take a
minute or two to compute."""
import concurrent.futures
import time

import pytest

import banyan

POLICY = {"type": "streaming", "sinks": 4, "window": 256}
# Pages of 16: 260 exact tokens, and what a step of 256 tokens needs behind a window of 256.
MOST_PAGES = 16 + 1 + 32
FACTS = ["The mill stands by the river, and the miller wakes before the sun.", "Anna sells bread and honey on the square.",
         "In winter the road to the town is closed by snow.", "The old oak was planted when the church was built."]


@pytest.fixture(scope="module")
def server():
    with banyan.serving("--kv-memory", "32MiB", "--served-model-name", "smol", model=banyan.MODEL) as one:
        yield one
        banyan.eventually(one.is_idle, "all pages given up after the test")


def chapter(number, sentences):
    """A long message; no two are alike."""
    return " ".join(f"{FACTS[(number + i) % len(FACTS)]} That was day {number * sentences + i}." for i in range(sentences))


def held(server):
    metrics = server.metrics()
    return server.pool() - metrics['banyan_kv_pages{state="free"}'] - metrics["banyan_kv_evictable_pages"]


def watched(server, messages):
    """(the answer, the most pages that it held)"""
    most = 0
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.chat, messages, max_tokens=120, temperature=0.7, seed=3, kv_policy=POLICY)
        while not answer.done():
            most = max(most, held(server))
            time.sleep(0.2)
    return answer.result(), most


def test_five_contexts(server):
    context = server.get("/v1/models").json()["data"][0]["max_model_len"]
    messages, prompts = [], []
    for turn, sentences in enumerate((900, 1100)):
        messages.append({"role": "user", "content": chapter(turn, sentences) + " Tell me about the village."})
        answer, most = watched(server, messages)
        assert 0 < most <= MOST_PAGES
        messages.append({"role": "assistant", "content": answer.text})
        prompts.append(answer.prompt)
        assert answer.body["usage"]["kv_policy_details"]["kept_tokens"] == 260
        assert len(set(answer.text.split())) > 15, answer.text
        assert held(server) == 0
    assert server.metric("banyan_preemptions_total") == 0
    assert prompts[-1] > 5 * context
    refused = server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 120})
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "context_length_exceeded"
