"""A client that goes away frees its pages, wherever its request is."""
import socket

import pytest

import banyan

CANCELLED = 'banyan_requests_total{finish_reason="cancelled"}'


@pytest.fixture(scope="module")
def roomy():
    # A pool in which an answer of half a million tokens fits: it runs until it is cancelled.
    with banyan.serving("--kv-memory", "8MiB", "--max-running", "1") as server:
        yield server


LEAVE = pytest.mark.parametrize("leave", [socket.socket.close, banyan.reset], ids=["close", "reset"])


def leave_while_it_decodes(server, connection, leave):
    """Leaves after the first token; asserts that the pages come back."""
    before = server.metrics()
    banyan.eventually(lambda: server.metric("banyan_sampled_tokens_total") >
                      before["banyan_sampled_tokens_total"], "decoding")
    leave(connection)
    banyan.eventually(lambda: server.metric(CANCELLED) == before[CANCELLED] + 1, "cancelled")
    banyan.eventually(server.is_idle, "its pages are given up")
    assert server.chat("next", max_tokens=2, ignore_eos=True).output == 2


@LEAVE
def test_in_decode(roomy, leave):
    connection = roomy.raw_chat("decode", max_tokens=500_000, ignore_eos=True)
    leave_while_it_decodes(roomy, connection, leave)


@LEAVE
def test_in_the_middle_of_a_stream(smol, leave):
    connection = smol.raw_chat("stream", max_tokens=2000, ignore_eos=True, stream=True)
    assert connection.recv(15) == b"HTTP/1.1 200 OK"
    leave_while_it_decodes(smol, connection, leave)


def test_in_the_queue(roomy):
    before = roomy.metrics()
    running = roomy.raw_chat("run", max_tokens=500_000, ignore_eos=True)
    banyan.eventually(lambda: roomy.metric("banyan_running_requests") == 1, "the first runs")
    waiting = roomy.raw_chat("wait", max_tokens=1)
    banyan.eventually(lambda: roomy.metric("banyan_waiting_requests") == 1, "the second waits")
    waiting.close()
    banyan.eventually(lambda: roomy.metric("banyan_waiting_requests") == 0, "it left the queue")
    running.close()
    banyan.eventually(lambda: roomy.metric(CANCELLED) == before[CANCELLED] + 2, "both cancelled")
    banyan.eventually(roomy.is_idle, "their pages are given up")


@pytest.mark.parametrize("stream", [False, True])
def test_in_prefill(smol, stream):
    # A real model, a few tokens a step: a prompt of thousands is computed for long.
    before = smol.metrics()
    prompt = "".join(f"{i} bottles, " for i in range(400))
    connection = smol.raw_chat(prompt, max_tokens=5, stream=stream)
    banyan.eventually(lambda: smol.metric("banyan_computed_prompt_tokens_total") >
                      before["banyan_computed_prompt_tokens_total"], "the prefill has begun")
    connection.close()
    banyan.eventually(lambda: smol.metric(CANCELLED) == before[CANCELLED] + 1, "cancelled")
    banyan.eventually(smol.is_idle, "its pages are given up")
    after = smol.metrics()
    assert after["banyan_sampled_tokens_total"] == before["banyan_sampled_tokens_total"], \
        "it was cancelled before its first token"
    assert after["banyan_cached_tokens"] > before["banyan_cached_tokens"], \
        "what was computed stays for the next one"
