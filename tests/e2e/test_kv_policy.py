"""Requests that keep sinks and a window of their KV, through the whole server: they go on where context or pool would end
them, hold the same few pages all the time, and share what is exact with everybody."""
import concurrent.futures

import pytest

import banyan

PAGE = 16
POOL = 64  # pages
# 68 exact tokens and chunks of 64: 4 pages, and 9 behind them.
STREAMING = {"type": "streaming", "sinks": 4, "window": 64}
MOST_PAGES = 13
SMALL = ("--kv-memory", str(POOL * PAGE * 8), "--page-size", str(PAGE))


@pytest.fixture(scope="module")
def small():
    with banyan.serving(*SMALL) as one:
        yield one
        banyan.eventually(one.is_idle, "all pages given up after the tests")


def tokens(first, count):
    """A prompt of its own, as ids."""
    return [32 + (first * 7 + i * i) % 95 for i in range(count)]


def held(server):
    """Pages that are neither free nor to be had."""
    metrics = server.metrics()
    return POOL - metrics['banyan_kv_pages{state="free"}'] - metrics["banyan_kv_evictable_pages"]


def watched(server, prompt, **members):
    """(the answer, pages held every now and then until it came)"""
    seen = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.complete, prompt, **members)
        while not answer.done():
            seen.append(held(server))
    return answer.result(), seen


def refused(server, policy, **members):
    answer = server.post("/v1/completions", {"prompt": "Hi", "kv_policy": policy, **members})
    assert answer.status_code == 400, answer.text
    return answer.json()["error"]


def test_an_answer_goes_on_beyond_the_pool_in_constant_memory(small):
    prompt, length = tokens(1, 40), 100_000
    counter = 'banyan_kv_policy_dropped_tokens_total{policy="streaming"}'
    before = small.metric(counter)
    answer, seen = watched(small, prompt, max_tokens=length, ignore_eos=True, kv_policy=STREAMING)
    usage = answer["usage"]
    assert usage["completion_tokens"] == length
    assert len(seen) > 5 and max(seen) <= MOST_PAGES
    dropped = 40 + length - 1 - 68
    assert usage["kv_policy_details"] == {"kept_tokens": 68, "dropped_tokens": dropped, "unread_tokens": 0}
    assert small.metric(counter) - before == dropped
    with banyan.serving("--kv-memory", "2MiB") as large:
        exact = large.complete(prompt, max_tokens=length, ignore_eos=True)
    assert answer["choices"] == exact["choices"], "this model's tokens depend on the path alone"


def test_a_prompt_may_be_longer_than_the_pool(small):
    prompt = tokens(2, 5 * POOL * PAGE)
    answer = small.complete(prompt, max_tokens=20, ignore_eos=True, kv_policy=STREAMING)
    assert answer["usage"]["completion_tokens"] == 20
    assert answer["usage"]["prompt_tokens"] == len(prompt)


def test_without_a_policy_it_is_refused_or_cut(small):
    answer = small.post("/v1/completions", {"prompt": tokens(2, POOL * PAGE), "max_tokens": 1})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"
    cut = small.complete(tokens(3, 40), max_tokens=4000, ignore_eos=True)
    assert cut["choices"][0]["finish_reason"] == "length"
    assert cut["usage"]["completion_tokens"] == POOL * PAGE - 40 + 1
    assert "kv_policy_details" not in cut["usage"]


@pytest.mark.parametrize("kind", ["h2o", "scissorhands"])
def test_heads_that_choose_for_themselves_hold_the_same_few_pages(small, kind):
    policy = {"type": kind, "budget": 64, "recent": 16, "observe": 8}
    prompt, length = tokens(7, 200), 700
    counter = f'banyan_kv_policy_dropped_tokens_total{{policy="{kind}"}}'
    before = small.metric(counter)
    answer = small.complete(prompt, max_tokens=length, ignore_eos=True, kv_policy=policy)
    details = answer["usage"]["kv_policy_details"]
    assert details["kept_tokens"] + details["dropped_tokens"] == 200 + length - 1
    assert 64 < details["kept_tokens"] <= 80
    assert small.metric(counter) - before == details["dropped_tokens"]
    again = small.complete(prompt, max_tokens=length, ignore_eos=True, kv_policy=policy)
    assert banyan.cached(again) == 192, "its last eight tokens are observed"
    assert again["choices"] == answer["choices"]
    assert banyan.cached(small.complete(prompt, max_tokens=1)) == 199


def test_a_prompt_of_which_a_part_is_kept(small):
    policy = {"type": "snapkv", "budget": 64, "observe": 8}
    answer = small.complete(tokens(8, 200), max_tokens=50, ignore_eos=True, kv_policy=policy)
    assert answer["usage"]["kv_policy_details"] == {"kept_tokens": 113, "dropped_tokens": 136, "unread_tokens": 0}


def test_an_answer_reads_some_pages_and_keeps_all(small):
    policy = {"type": "quest", "budget": 70}
    prompt = tokens(9, 200)
    answer = small.complete(prompt, max_tokens=50, ignore_eos=True, kv_policy=policy)
    # 16 pages of which it reads 4.
    assert answer["usage"]["kv_policy_details"] == {"kept_tokens": 249, "dropped_tokens": 0, "unread_tokens": 192}
    again = small.complete(prompt, max_tokens=50, ignore_eos=True, kv_policy=policy)
    assert banyan.cached(again) == 192, "whole pages of what is exact"
    assert again["choices"] == answer["choices"]
    assert banyan.cached(small.complete(prompt, max_tokens=1)) == 192


def test_exact_pages_are_shared_in_both_directions(small):
    system = tokens(4, 60)
    first = small.complete(system + tokens(5, 100), max_tokens=8, kv_policy=STREAMING)
    second = small.complete(system + tokens(6, 100), max_tokens=8, kv_policy=STREAMING)
    assert banyan.cached(first) == 0
    assert banyan.cached(second) == 60
    exact = small.complete(system + tokens(6, 100), max_tokens=8)
    assert banyan.cached(exact) == 64, "whole pages of what is exact"
    again = small.complete(system + tokens(6, 100), max_tokens=8, kv_policy=STREAMING)
    assert banyan.cached(again) == 68, "to the token, and not more of what an exact request left"


def test_a_chat_of_many_turns(small):
    messages, lengths = [], []
    for turn in range(12):
        messages.append({"role": "user", "content": f"This is turn {turn}: " + "and so on " * 20})
        answer = small.chat(messages, max_tokens=100, kv_policy=STREAMING)
        messages.append({"role": "assistant", "content": answer.text})
        lengths.append(answer.prompt)
        assert held(small) <= MOST_PAGES
    assert lengths[-1] > 2 * POOL * PAGE
    assert small.post("/v1/chat/completions", {"messages": messages}).status_code == 400


def test_the_default_is_of_requests_that_say_nothing():
    with banyan.serving(*SMALL, "--kv-policy", "streaming:sinks=4,window=64") as server:
        said = server.get("/v1/models").json()["data"][0]["banyan"]
        assert said["kv_policy"] == STREAMING
        long = tokens(1, 2 * POOL * PAGE)
        assert "kv_policy_details" in server.complete(long, max_tokens=2)["usage"]
        body = {"prompt": long, "max_tokens": 2, "kv_policy": {"type": "exact"}}
        assert server.post("/v1/completions", body).status_code == 400
        scored = server.complete("Hello", max_tokens=2, echo=True, logprobs=0)
        assert "kv_policy_details" not in scored["usage"], "a prompt is scored with all of it"


@pytest.mark.parametrize("policy, param", [
    ({"type": "h2o2"}, "kv_policy.type"),
    ({}, "kv_policy.type"),
    ("streaming", "kv_policy"),
    ({"type": "streaming", "window": 0}, "kv_policy.window"),
    ({"type": "streaming", "window": "64"}, "kv_policy.window"),
    ({"type": "streaming", "sinks": 65}, "kv_policy.sinks"),
    ({"type": "streaming", "budget": 64}, "kv_policy.budget"),
    ({"type": "exact", "window": 64}, "kv_policy.window"),
    ({"type": "h2o", "window": 64}, "kv_policy.window"),
    ({"type": "h2o", "budget": 0}, "kv_policy.budget"),
    ({"type": "h2o", "budget": 520}, "kv_policy"),
    ({"type": "snapkv", "budget": 64, "pooled": 4}, "kv_policy"),
    ({"type": "snapkv", "budget": 64, "recent": 65}, "kv_policy"),
    ({"type": "quest", "budget": 0}, "kv_policy.budget"),
    ({"type": "quest", "budget": 15}, "kv_policy"),
    ({"type": "quest", "budget": 2 << 20}, "kv_policy"),
    ({"type": "quest", "dense_layers": 1025}, "kv_policy.dense_layers"),
    ({"type": "quest", "recent": 8}, "kv_policy.recent"),
    ({"type": "streaming", "sinks": 8, "window": 7}, "kv_policy"),
    ({"type": "streaming", "window": 2 << 20}, "kv_policy"),
    ({"type": "streaming", "window": 900}, "kv_policy"),
])
def test_what_cannot_be_is_refused_by_name(small, policy, param):
    error = refused(small, policy)
    assert error["param"] == param
    assert param in error["message"]


def test_a_prompt_that_is_scored_has_no_policy(small):
    assert refused(small, STREAMING, echo=True, logprobs=1)["param"] == "kv_policy"


@pytest.mark.parametrize("text, words", [
    ("streeming", "'streeming' is not known"),
    ("streaming:windows=64", "'windows' is no member"),
    ("streaming:sinks=65,window=100", "sinks must be between 0 and 64"),
    ("streaming:sinks=8,window=7", "smaller than the sinks"),
    ("streaming:window=900", "over the KV pool of 64"),
    ("streaming:window=2000000", "over the context"),
])
def test_a_default_that_cannot_be_is_refused_at_the_start(text, words):
    code, _, err = banyan.run("serve", "--model", "null", "--port", "0", *SMALL, "--kv-policy", text)
    assert code == 1
    assert err.count("\n") == 1
    assert "--kv-policy" in err and words in err


QUESTION = [{"role": "user", "content": "Tell a long story about an old tree and the people of its village."}]


@pytest.fixture(scope="module")
def smol():
    """SmolLM2 with a pool of 45 pages."""
    with banyan.serving("--kv-memory", "16MiB", "--served-model-name", "smol", model=banyan.MODEL) as one:
        yield one
        banyan.eventually(one.is_idle, "all pages given up after the tests")


def tell(server, **members):
    return server.chat(QUESTION, ignore_eos=True, logprobs=True, seed=7, kv_policy=STREAMING, **members)


def test_a_story_goes_on_beyond_the_pool(smol):
    answer = tell(smol, max_tokens=900, temperature=0.7)
    assert answer.output == 900 > smol.pool() * PAGE
    assert answer.body["usage"]["kv_policy_details"]["kept_tokens"] == 68
    assert len(set(answer.text[-600:].split())) > 40, "words, and not the same ones for ever"


def test_bits_are_the_same_alone_and_in_other_chunks_cached_and_computed(smol):
    alone = tell(smol, max_tokens=150).body["choices"]
    assert tell(smol, max_tokens=150).body["choices"] == alone
    with banyan.serving("--kv-memory", "16MiB", "--prefix-caching", "off", "--max-batch-tokens", "9", "--max-running", "4",
                        model=banyan.MODEL) as other:
        assert tell(other, max_tokens=150).body["choices"] == alone


def test_bits_are_those_without_a_policy_as_long_as_everything_is_seen(smol):
    exact = smol.chat(QUESTION, temperature=0, logprobs=True, max_tokens=30)
    wide = {"type": "streaming", "sinks": 4, "window": 200}
    assert smol.chat(QUESTION, temperature=0, logprobs=True, max_tokens=30,
                     kv_policy=wide).body["choices"] == exact.body["choices"]


QUEST = {"type": "quest", "budget": 64}


def ask(server, messages, policy=QUEST, **members):
    return server.chat(messages, ignore_eos=True, logprobs=True, seed=7, kv_policy=policy, **members)


def test_what_is_read_is_the_same_alone_and_in_other_chunks_cached_and_computed(smol):
    long = [{"role": "user", "content": QUESTION[0]["content"] + " Its leaves are green and its bark is grey." * 12}]
    alone = ask(smol, long, max_tokens=60)
    assert alone.body["usage"]["kv_policy_details"]["unread_tokens"] > 64
    again = ask(smol, long, max_tokens=60)
    assert again.cached >= again.prompt - PAGE and again.body["choices"] == alone.body["choices"]
    assert ask(smol, long, {"type": "quest", "budget": 48}, max_tokens=60).body["choices"] != alone.body["choices"]
    exact = smol.chat(long, ignore_eos=True, logprobs=True, seed=7, max_tokens=60).body["choices"]
    assert ask(smol, long, {"type": "quest", "budget": 1000}, max_tokens=60).body["choices"] == exact
    with banyan.serving("--kv-memory", "16MiB", "--prefix-caching", "off", "--max-batch-tokens", "9", "--max-running", "4",
                        model=banyan.MODEL) as other:
        assert ask(other, long, max_tokens=60).body["choices"] == alone.body["choices"]


def test_an_exact_turn_does_not_find_an_answer_that_read_a_part(smol):
    own = [{"role": "user", "content": "Describe a ship in a storm, which no other test here asks for, from bow to stern."}]
    first = ask(smol, own, max_tokens=120)
    turns = own + [{"role": "assistant", "content": first.text}, {"role": "user", "content": "Go on."}]
    exact = smol.chat(turns, max_tokens=1)
    assert first.prompt - PAGE - 8 < exact.cached <= first.prompt


def test_layers_that_are_not_there_cannot_read_all(smol):
    assert "none of the model's 30" in refused(smol, {"type": "quest", "budget": 64, "dense_layers": 30})["message"]
