"""The whole server on the CUDA backend, whose kernels run on the CPU here (docs/cuda.md): answers, what is refused, and
what becomes of a server whose device fails."""
import concurrent.futures
import os
import signal

import pytest

import banyan

BINARY = os.environ.get("BANYAN_CUDA_BIN", "")
SYSTEM = {"role": "system", "content": "You are a gardener. Answer in a few words."}
QUESTIONS = ["Which tree grows figs?", "And which grows olives?"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A model that is small enough to be emulated."""
    if "BANYAN_TINY" in os.environ:  # one that was carried to a machine with a device
        return os.environ["BANYAN_TINY"]
    import made_up_gguf  # pylint: disable=import-outside-toplevel
    path = tmp_path_factory.mktemp("cuda") / "tiny.gguf"
    made_up_gguf.write(path)
    return str(path)


def serving(model, *arguments, memory="4MiB"):
    return banyan.serving("--backend", "cuda", "--kv-memory", memory, "--max-batch-tokens", "32", "--max-running", "8",
                          "--served-model-name", "tiny", "--log-format", "json", *arguments, model=model, binary=BINARY)


@pytest.fixture(scope="module")
def server(tiny):
    with serving(tiny) as one:
        yield one
        banyan.eventually(one.is_idle, "all pages given up after the tests")


def converse(server):
    messages = [SYSTEM]
    turns = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        answer = server.chat(messages, max_tokens=8, logprobs=True, top_logprobs=3, temperature=0, ignore_eos=True)
        turns.append(answer)
        messages.append({"role": "assistant", "content": answer.text})
    return turns


def choices(turns):
    return [turn.body["choices"] for turn in turns]


def test_it_says_what_computes(server):
    entry = server.get("/v1/models").json()["data"][0]["banyan"]
    assert entry["device"] == "host execution" and "cpu_variant" not in entry
    assert [line["device"] for line in server.logged("ready")] == ["host execution"]
    assert server.get("/ready").status_code == 200
    assert server.metric("banyan_device_failures_total") == 0


@pytest.mark.parametrize("arguments", [(), ("--kv-dtype", "int8"), ("--deterministic", "on")], ids=" ".join)
def test_answers_are_the_same_bits_cached_and_computed(tiny, arguments):
    with serving(tiny, *arguments) as server:
        converse(server)
        cached = converse(server)
        assert all(turn.cached == turn.prompt - 1 for turn in cached)
    with serving(tiny, *arguments, "--prefix-caching", "off") as uncached:
        computed = converse(uncached)
    assert [turn.cached for turn in computed] == [0] * len(QUESTIONS)
    assert choices(cached) == choices(computed), "text and every log-probability"


def test_answers_are_the_same_bits_together_and_preempted(tiny):
    seeds = range(4)

    def ask(of, seed):
        return of.chat("Tell a long story.", max_tokens=120, logprobs=True, temperature=1, seed=seed,
                       ignore_eos=True).body["choices"]

    with serving(tiny, "--deterministic", "on") as large:
        alone = [ask(large, seed) for seed in seeds]
    with serving(tiny, "--deterministic", "on", memory=str(14 * 16 * 128)) as small, \
            concurrent.futures.ThreadPoolExecutor(len(seeds)) as pool:
        together = list(pool.map(lambda seed: ask(small, seed), seeds))
        assert small.metric("banyan_preemptions_total") > 0
    assert together == alone


def refused(model, *arguments):
    code, _, stderr = banyan.run("serve", "--model", model, "--backend", "cuda", "--port", 0, *arguments, binary=BINARY)
    assert code == 1, (code, stderr)
    assert stderr.count("\n") == 1 and stderr.startswith("banyan: "), stderr
    return stderr


@pytest.mark.parametrize("arguments,named", [
    (("--device", "1"), "there is no device 1"),
    (("--device", "-1"), "--device"),
    (("--kv-dtype", "int4"), "pages in int4 take heads of a multiple of 32 numbers, and these have 8"),
    (("--kv-memory", "64GiB"), "KV pool"),
], ids=" ".join)
def test_what_cannot_be_is_one_clear_line(tiny, arguments, named):
    assert named in refused(tiny, *arguments)


def test_a_model_without_weights_has_no_device():
    assert "a model without weights" in refused("null")


def test_a_build_without_the_toolkit_says_so(tiny):
    code, _, stderr = banyan.run("serve", "--model", tiny, "--backend", "cuda", "--port", 0)
    assert code == 1 and stderr.count("\n") == 1 and "this build has no CUDA backend" in stderr


@pytest.mark.parametrize("policy", [
    {"type": "streaming", "sinks": 4, "window": 16},
    {"type": "snapkv", "budget": 32, "observe": 8},
    {"type": "quest", "budget": 32, "dense_layers": 0},
], ids=lambda policy: policy["type"])
def test_requests_that_keep_a_part_are_answered(server, policy):
    answer = server.complete(list(range(100, 200)), max_tokens=4, ignore_eos=True, kv_policy=policy)
    details = answer["usage"]["kv_policy_details"]
    assert details["dropped_tokens"] + details["unread_tokens"] > 0


def test_a_device_that_fails_makes_the_server_unready(tiny):
    server = banyan.Server("--backend", "cuda", "--kv-memory", "4MiB", "--log-format", "json", model=tiny, binary=BINARY)
    endless = {"max_tokens": 3000, "ignore_eos": True}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = [pool.submit(server.post, "/v1/completions", {"prompt": prompt, **endless}) for prompt in ("a", "b")]
        banyan.eventually(lambda: server.metric("banyan_running_requests") == 2, "both run")
        server.signal(signal.SIGUSR1)
        for answer in [one.result() for one in running]:
            assert answer.status_code == 500
            assert answer.json()["error"]["code"] == "engine_error"
    for probe in ("/ready", "/health"):
        answer = server.get(probe)
        assert answer.status_code == 503, probe
        assert answer.json()["error"]["code"] == "not_ready"
        assert "has to be started again" in answer.json()["error"]["message"]
    assert server.post("/v1/completions", {"prompt": "c"}).status_code == 503
    metrics = server.metrics()
    assert metrics["banyan_ready"] == 0
    assert metrics["banyan_device_failures_total"] == 1
    assert metrics["banyan_failed_steps_total"] >= 1
    assert all("the device failed: " in line["reason"] for line in server.logged("step failed"))
    assert server.stop() == 0


# What may differ: a device reads weights in bfloat16 and the inputs of products too, the CPU these in int8, which alone
# is worth up to 1.4 of a logit (docs/model.md).
BOUND = 1.5


def test_the_default_model_gives_the_cpus_tokens():
    """Of a text that goes on as anybody would: each of its tokens is computed by the emulation in a tenth of a second."""
    question = {"prompt": "1, 2, 3, 4, 5, 6, 7,", "max_tokens": 6, "temperature": 0, "logprobs": 2}
    with banyan.serving("--kv-memory", "16MiB", model=banyan.MODEL) as cpu:
        expected = cpu.complete(**question)["choices"][0]["logprobs"]
    with serving(banyan.MODEL) as device:
        got = device.complete(**question)["choices"][0]["logprobs"]
    decided = 0
    for token, other, top in zip(expected["tokens"], got["tokens"], expected["top_logprobs"], strict=True):
        best, second = sorted(top.values(), reverse=True)[:2]
        if best - second <= 2 * BOUND:
            if token != other:
                break
            continue
        assert other == token
        decided += 1
    assert decided >= 3
