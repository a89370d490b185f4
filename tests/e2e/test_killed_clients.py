"""Clients are killed at any moment, under load and pressure; afterwards nothing is held, and nothing is wrong.

A number of visits, each decided by a seed (BANYAN_SEED); with BANYAN_SOAK_SECONDS as many as come
in that time, which the cases share.
"""
import concurrent.futures
import os
import random
import socket
import time

import pytest

import banyan

CLIENTS = 8
SOAK = float(os.environ.get("BANYAN_SOAK_SECONDS", "0"))
SEED = int(os.environ.get("BANYAN_SEED", "1"))


class Case:
    """A server, and the work that is too much for its pool."""

    def __init__(self, model, arguments, visits, words, answer):
        self.arguments = arguments
        self.model = model
        self.visits = visits  # of each client
        self.words = words
        self.answer = answer  # longest

    def serving(self, *arguments):
        return banyan.serving(*self.arguments, *arguments, model=self.model)

    def prompt(self, rng):
        """Begins as some others do, for as long as none of them or all of it."""
        kind = rng.randrange(4)
        words = [f"{kind}:{i % 17}" for i in range(self.words)]
        own = rng.randrange(len(words) + 1)
        ending = [f"own {rng.randrange(100)}"] if rng.random() < 0.5 else []
        return " ".join(words[:own] + ending) or "none"


CASES = {
    # 192 pages of 16 tokens: two of the longest do not fit.
    "null": lambda: Case("null", ["--kv-memory", "24KiB", "--max-running", "6", "--max-batch-tokens",
                                  "48"], visits=60, words=120, answer=1500),
    # 45 pages.
    "smol": lambda: Case(banyan.MODEL, ["--kv-memory", "16MiB", "--max-running", "4",
                                        "--max-batch-tokens", "32", "--served-model-name", "smol"],
                         visits=3, words=40, answer=10),
}


def request(case, rng):
    """The path and body of something that a client may ask."""
    body = {"max_tokens": rng.choice([0, 1, rng.randrange(case.answer + 1)]), "temperature": 1,
            "seed": rng.randrange(3), "ignore_eos": True, "stream": rng.random() < 0.5,
            "priority": rng.randrange(10)}
    if rng.random() < 0.3:
        body["cache_salt"] = rng.choice("ab")
    if rng.random() < 0.5:
        return "/v1/chat/completions", {
            **body, "messages": [{"role": "user", "content": case.prompt(rng)}]}
    if rng.random() < 0.2:
        body |= {"logprobs": 1, "echo": rng.random() < 0.5}
    return "/v1/completions", {
        **body, "prompt": [case.prompt(rng) for _ in range(rng.choice([1, 1, 1, 3]))]}


def visit(server, case, rng):
    """One client: it asks, and stays or is killed at some moment."""
    path, body = request(case, rng)
    moment = rng.choice(["half sent", "sent", "soon", "answered", "answered", "done"])
    if moment == "done":
        answer = server.post(path, body)
        assert answer.status_code == 200, answer.text
        assert not body["stream"] or answer.content.endswith(b"data: [DONE]\n\n")
        return
    data = banyan.post_bytes(path, body)
    if moment == "half sent":
        data = data[:rng.randrange(1, len(data))]
    connection = server.raw(data)
    if moment == "soon":
        time.sleep(rng.uniform(0, 0.05))
    if moment == "answered":
        connection.recv(rng.choice([1, 200, 2000]))
    rng.choice([socket.socket.close, banyan.reset])(connection)


def load(server, case):
    """All clients; raises what any of them saw go wrong."""
    end = time.monotonic() + SOAK / len(CASES)

    def client(number):
        rng = random.Random(f"{SEED} {number}")
        visits = 0
        while visits < case.visits or time.monotonic() < end:
            visit(server, case, rng)
            visits += 1

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        for done in [clients.submit(client, number) for number in range(CLIENTS)]:
            done.result()


def held(server, pool):
    """What somebody still has, by the names of the metrics; every one of them must be 0."""
    metrics = server.metrics()

    def pages(state):
        return metrics[f'banyan_kv_pages{{state="{state}"}}']

    return {name: amount for name, amount in {
        **{state: pages(state) for state in ("open", "private", "copying", "detached")},
        "pinned": pages("tree") - metrics["banyan_kv_evictable_pages"],
        "neither free nor in the tree": pool - pages("free") - pages("tree"),
        **{name: metrics[f"banyan_{name}"] for name in (
            "kv_reserved_pages", "running_requests", "waiting_requests", "following_requests")},
    }.items() if amount != 0}


def settle(server):
    """Waits until nobody has anything: what the last ones sent may only be read now."""
    pool = server.pool()
    seen = {}

    def nothing_is_held():
        seen.clear()
        seen.update(held(server, pool))
        return not seen

    try:
        banyan.eventually(nothing_is_held, "nothing is held")
    finally:
        print("held:", seen)


def answers(server, prompts, tokens):
    return [server.complete(prompt, max_tokens=tokens, ignore_eos=True, temperature=1, seed=7)
            for prompt in prompts]


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_and_nothing_is_wrong(name):
    case = CASES[name]()
    rng = random.Random(f"{SEED} prompts")
    prompts = [case.prompt(rng) for _ in range(24 if name == "null" else 6)]
    with case.serving() as server:
        load(server, case)
        settle(server)
        ended = {name: value for name, value in server.metrics().items()
                 if name.startswith("banyan_requests_total")}
        assert ended['banyan_requests_total{finish_reason="cancelled"}'] > 0
        assert ended['banyan_requests_total{finish_reason="length"}'] > 0
        assert ended['banyan_requests_total{finish_reason="failed"}'] == 0
        assert server.metric("banyan_kv_evicted_pages_total") > 0
        assert server.metric("banyan_preemptions_total") > 0 or name != "null"
        hot = answers(server, prompts, case.answer)
        settle(server)
        # The engine looks at scheduler and tree when it has had nothing to do for a second.
        time.sleep(2.5)
        assert server.get("/health").status_code == 200, "the invariants hold"
    with case.serving("--prefix-caching", "off") as server:
        cold = answers(server, prompts, case.answer)
    assert [a["choices"] for a in hot] == [a["choices"] for a in cold]
    assert sum(map(banyan.cached, hot)) > 0 == sum(map(banyan.cached, cold))
