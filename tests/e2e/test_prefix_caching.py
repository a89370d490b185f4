"""With and without the cache: the same answers, bit for bit; only what they cost differs."""
import pytest

import banyan

SYSTEM = {"role": "system", "content": "You are a gardener. Answer in a few words."}
QUESTIONS = ["Which tree grows figs?", "Which tree grows olives?", "And which grows figs?"]


@pytest.fixture(scope="module")
def uncached():
    with banyan.serving("--kv-memory", "64MiB", "--served-model-name", "smol", "--max-running", "8",
                        "--prefix-caching", "off", model=banyan.MODEL) as server:
        yield server
        banyan.eventually(server.is_idle, "all pages given up after the tests")


def converse(server, **members):
    """A conversation of three turns: each turn's message, its log-probabilities and usage."""
    messages = [SYSTEM]
    turns = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        answer = server.chat(messages, max_tokens=12, logprobs=True, top_logprobs=3, **members)
        turns.append(answer)
        messages.append({"role": "assistant", "content": answer.text})
    return turns


@pytest.mark.parametrize("members", [{"temperature": 0}, {"temperature": 1.2, "seed": 11},
                                     {"temperature": 0.9, "seed": 5, "top_p": 0.9,
                                      "repetition_penalty": 1.2}],
                         ids=["greedy", "seeded", "filtered"])
def test_answers_are_the_same_bits(smol, uncached, members):
    before = uncached.metrics()
    converse(smol, **members)
    cached = converse(smol, **members)
    computed = converse(uncached, **members)
    for one, other in zip(cached, computed, strict=True):
        assert one.body["choices"] == other.body["choices"], "text and every log-probability"
        assert (one.prompt, one.output) == (other.prompt, other.output)
        assert one.cached == one.prompt - 1
        assert other.cached == 0
    after = uncached.metrics()
    grown = {name: after[name] - before[name] for name in after}
    prompt = sum(turn.prompt for turn in computed)
    assert grown["banyan_missed_prompt_tokens_total"] == prompt
    assert grown["banyan_computed_prompt_tokens_total"] == prompt
    assert after["banyan_cached_prompt_tokens_total"] == 0
