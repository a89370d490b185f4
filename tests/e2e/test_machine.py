"""Answers are the same bits whatever the machine is like: one processor or all, busy or not, threads bound or free."""
import concurrent.futures
import contextlib
import os
import subprocess
import sys

import pytest

import banyan

# Some begin alike, so that requests of one batch read the same pages; some are longer than a chunk of a prompt.
SHARED = "You are a gardener who answers in one sentence. " * 12
PROMPTS = [SHARED + question for question in ("What is a leaf?", "What is a root?", "Why do trees grow?")]
PROMPTS += ["The oldest trees of the world are", "One, two, three, " * 60, "Once upon a time there was a"]


def ask(server, prompt):
    answer = server.complete(prompt, max_tokens=12, temperature=0.7, seed=5, logprobs=3, ignore_eos=True)
    return answer["choices"]


def ask_all_at_once(server):
    with concurrent.futures.ThreadPoolExecutor(len(PROMPTS)) as clients:
        return list(clients.map(lambda prompt: ask(server, prompt), PROMPTS))


@pytest.fixture(scope="module")
def expected(smol):
    """One after the other, on an idle machine."""
    return [ask(smol, prompt) for prompt in PROMPTS]


@contextlib.contextmanager
def one_processor():
    """What is started within has one processor, as under taskset."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def busy_machine():
    """Twice as many processes as processors do nothing but compute."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
              for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def serving(*arguments):
    return banyan.serving("--kv-memory", "64MiB", "--served-model-name", "smol", "--max-running", "8",
                          "--log-format", "json", *arguments, model=banyan.MODEL)


def threads(server):
    return server.logged("ready")[0]["threads"]


def test_in_one_batch(smol, expected):
    assert ask_all_at_once(smol) == expected


def test_on_one_processor(expected):
    with contextlib.ExitStack() as stack:
        with one_processor():
            server = stack.enter_context(serving())
        assert threads(server) == 1, "as many as there are processors"
        assert ask_all_at_once(server) == expected


@pytest.mark.parametrize("arguments", [("--threads", "3"), ("--threads", "3", "--bind-threads", "on")],
                         ids=["free", "bound"])
def test_on_a_busy_machine(expected, arguments):
    with serving(*arguments) as server, busy_machine():
        assert ask_all_at_once(server) == expected


def test_in_small_steps(expected):
    with serving("--max-batch-tokens", "16", "--mixed-prefill-tokens", "3") as server:
        assert ask_all_at_once(server) == expected
