"""Who goes first when the only place gets free: by priority, waiting, and what is cached."""
import itertools
import time

import pytest

import banyan

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
PLACES = itertools.count()


def serving(*arguments):
    return banyan.serving("--kv-memory", "8MiB", "--max-running", "1", *arguments)


@pytest.fixture(scope="module")
def plain():
    with serving() as server:
        yield server


def question(path, text):
    return {"prompt": text} if path == COMPLETIONS else \
        {"messages": [{"role": "user", "content": text}]}


def send(server, path, body, waiting):
    """Sends what takes the place until it is cancelled, once so many wait; the connection."""
    body = {**body, "max_tokens": 500_000, "ignore_eos": True}
    connection = server.raw(banyan.post_bytes(path, body))
    banyan.eventually(lambda: server.metric("banyan_running_requests") == 1 and
                      server.metric("banyan_waiting_requests") == waiting, "it came")
    return connection


def goes_first(server, first, second, path=COMPLETIONS, between=lambda: None, warm=None):
    """Of two that wait, the first and the second to come: which gets the place. `first` and
    `second` are what they say besides a prompt; only `warm` of a prompt is cached."""
    salt = f"place {next(PLACES)}"  # nothing of an earlier one is cached
    bodies = [{**question(path, text), "cache_salt": salt, **members}
              for text, members in (("One came early.", first), ("A second one came late.", second))]
    lengths = [server.post("/tokenize", {k: v for k, v in body.items() if k in ("prompt", "messages")})
               .json()["count"] for body in bodies]
    assert lengths[0] != lengths[1], "they are told apart by their lengths"
    if warm:
        server.complete(warm, max_tokens=0, cache_salt=salt)
    with send(server, path, question(path, "running"), 0) as running:
        before = server.metric("banyan_prompt_tokens_total")
        with send(server, path, bodies[0], 1):
            between()
            with send(server, path, bodies[1], 2):
                running.close()
                banyan.eventually(lambda: server.metric("banyan_waiting_requests") == 1,
                                  "one of them is admitted")
                admitted = server.metric("banyan_prompt_tokens_total") - before
    banyan.eventually(server.is_idle, "all are cancelled")
    return ("first", "second")[lengths.index(admitted)]


@pytest.mark.parametrize("path", [COMPLETIONS, CHAT])
@pytest.mark.parametrize("first,second,winner", [
    ({}, {}, "first"),
    ({}, {"priority": 9}, "second"),
    ({"priority": 0}, {"priority": 1}, "second"),
    ({"priority": 3}, {"priority": 3}, "first"),
    ({"priority": 9}, {"priority": 8}, "first"),
    ({"priority": 1}, {}, "first"),
])
def test_the_higher_priority_goes_first_then_who_came_first(plain, path, first, second, winner):
    assert goes_first(plain, first, second, path) == winner


def test_waiting_raises_a_priority():
    with serving("--priority-ageing", "1ms") as server:
        # Nine milliseconds are enough, more change nothing.
        assert goes_first(server, {}, {"priority": 9}, between=lambda: time.sleep(0.1)) == "first"


@pytest.mark.parametrize("arguments,winner,passes", [
    ((), "second", 1), (("--max-passes", "1"), "second", 1), (("--max-passes", "0"), "first", 0)])
def test_more_cached_goes_first_but_passes_are_bounded(arguments, winner, passes):
    with serving(*arguments) as server:
        assert goes_first(server, {}, {}, warm="A second one came") == winner
        assert server.metric("banyan_passed_over_total") == passes
        assert goes_first(server, {"priority": 1}, {}, warm="A second one came") == "first", \
            "priority counts for more"
