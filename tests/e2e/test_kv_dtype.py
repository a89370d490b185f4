"""Every format of KV pages through the whole server: what it says of them, and that answers are the same bits cached,
computed alone, or with a pool so small that requests are preempted."""
import concurrent.futures
import json

import pytest

import banyan

DTYPES = {"f16": 23_040, "bf16": 23_040, "fp8": 11_520, "int8": 11_880, "int4": 7_200}
PAGE = 16
RUNNING = 8
# Beside the pool each request that runs has a page in f16, until it is full and sealed.
OPEN = {"int4": RUNNING * PAGE * DTYPES["f16"]}
SYSTEM = {"role": "system", "content": "You are a gardener. Answer in a few words."}
QUESTIONS = ["Which tree grows figs?", "Which tree grows olives?", "And which grows figs?"]


def serving(dtype, memory, *arguments):
    return banyan.serving("--kv-memory", str(memory), "--kv-dtype", dtype, "--max-running", str(RUNNING), "--log-format", "json",
                          "--served-model-name", "smol", *arguments, model=banyan.MODEL)


@pytest.fixture(scope="module", params=DTYPES)
def server(request):
    with serving(request.param, "32MiB") as one:
        one.dtype = request.param
        yield one
        banyan.eventually(one.is_idle, "all pages given up after the tests")


def entry(server):
    return server.get("/v1/models").json()["data"][0]["banyan"]


def converse(server):
    messages = [SYSTEM]
    turns = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        answer = server.chat(messages, max_tokens=12, logprobs=True, top_logprobs=3, temperature=0)
        turns.append(answer)
        messages.append({"role": "assistant", "content": answer.text})
    return turns


def test_a_server_says_how_its_pages_keep_numbers(server):
    said = entry(server)
    assert said["kv_dtype"] == server.dtype
    assert said["kv_bytes_per_token"] == DTYPES[server.dtype]
    open_bytes = OPEN.get(server.dtype, 0)
    assert said["pages"] == ((32 << 20) - open_bytes) // (PAGE * DTYPES[server.dtype])
    assert said["kv_pool_bytes"] == said["pages"] * PAGE * DTYPES[server.dtype] + open_bytes
    assert said.get("kv_open_bytes", 0) == open_bytes
    assert server.metric("banyan_kv_page_bytes") == PAGE * DTYPES[server.dtype]
    info = next(name for name in server.metrics() if name.startswith("vllm:cache_config_info"))
    assert f'cache_dtype="{server.dtype}"' in info
    assert [entry["kv_dtype"] for entry in server.logged("ready")] == [server.dtype]


def cached_part(dtype, prompt):
    """Of a prompt of so many tokens that was there before: pages that are sealed are shared whole."""
    return (prompt - 1) // PAGE * PAGE if dtype in OPEN else prompt - 1


def test_answers_are_the_same_bits_cached_and_computed(server):
    converse(server)
    cached = converse(server)
    assert all(turn.cached == cached_part(server.dtype, turn.prompt) for turn in cached)
    with serving(server.dtype, "32MiB", "--prefix-caching", "off") as uncached:
        computed = converse(uncached)
    assert [turn.cached for turn in computed] == [0] * len(QUESTIONS)
    for one, other in zip(cached, computed, strict=True):
        assert one.body["choices"] == other.body["choices"], "text and every log-probability"


def test_answers_are_the_same_bits_together_and_preempted(server):
    seeds = range(4)

    def ask(of, seed):
        return of.chat("Tell a long story about an old tree.", max_tokens=150, logprobs=True, temperature=1,
                       seed=seed).body["choices"]

    alone = [ask(server, seed) for seed in seeds]
    memory = 20 * PAGE * DTYPES[server.dtype] + OPEN.get(server.dtype, 0)
    with serving(server.dtype, memory) as small, \
            concurrent.futures.ThreadPoolExecutor(len(seeds)) as pool:
        together = list(pool.map(lambda seed: ask(small, seed), seeds))
        assert small.metric("banyan_preemptions_total") > 0
    assert together == alone


def test_formats_are_not_the_same():
    """Or the tests above compare nothing."""
    said = set()
    for dtype in ("f16", "fp8", "int8", "int4"):
        with serving(dtype, "8MiB") as server:
            said.add(json.dumps([turn.body["choices"] for turn in converse(server)]))
    assert len(said) == 4


@pytest.mark.parametrize("length", [16, 17, 100])
def test_the_same_prompt_at_once_is_computed_once(server, length):
    prompt = [1000 + (37 * length + i * i) % 40_000 for i in range(length)]
    banyan.eventually(server.is_idle, "idle")
    before = server.computed()
    answer = server.complete([prompt] * RUNNING, max_tokens=4, temperature=0)
    assert len({choice["text"] for choice in answer["choices"]}) == 1
    cached = cached_part(server.dtype, length)
    assert banyan.cached(answer) == (RUNNING - 1) * cached
    banyan.eventually(server.is_idle, "idle")
    assert server.computed() - before == length + (RUNNING - 1) * (length - cached)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_window_with_sinks_is_the_same_cached_together_and_alone(dtype):
    policy = {"type": "streaming", "sinks": 4, "window": 28}
    with serving(dtype, "16MiB") as server:
        def ask(seed):
            return server.chat("Tell a long story about an old tree.", max_tokens=60, logprobs=True, temperature=1,
                               seed=seed, kv_policy=policy).body["choices"]

        alone = [ask(seed) for seed in range(2)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            together = list(pool.map(ask, range(2)))
        assert together == alone


def test_pages_that_are_sealed_are_whole_tiles():
    for arguments, words in [(("--page-size", "24"), "multiple of 16"),
                             (("--kv-policy", "h2o:budget=100"), "single tokens, which the int4 pages"),
                             (("--kv-memory", "1MiB", "--max-running", "8"), "--max-running")]:
        code, out, err = banyan.run("serve", "--model", banyan.MODEL, "--kv-dtype", "int4", "--port", "0", *arguments)
        assert code == 1 and "ready" not in out
        assert err.count("\n") == 1 and words in err


def test_a_model_without_weights_has_none(null):
    assert "kv_dtype" not in entry(null)


def test_what_is_not_known_is_refused_by_name():
    code, out, err = banyan.run("serve", "--model", "null", "--kv-dtype", "fp9")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "--kv-dtype" in err and "'fp9'" in err and "int8" in err and "int4" in err
