"""Start and end of the process: what is refused, in one line, and how it drains."""
import concurrent.futures
import json
import pathlib
import re
import signal
import socket
import struct
import subprocess

import pytest

import banyan


def refused(*arguments, **variables):
    """The one line with which it refuses to start."""
    code, _, stderr = banyan.run("serve", *arguments, **variables)
    assert code == 1, (code, stderr)
    lines = stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("banyan: "), stderr
    return lines[0]


@pytest.mark.parametrize("arguments,named", [
    (["--model", "null", "--port", "65536"], "--port"),
    (["--model", "null", "--kv-memory", "lots"], "--kv-memory"),
    (["--model", "null", "--page-size", "0"], "--page-size"),
    (["--model", "null", "--backend", "cuda"], "cuda"),
    (["--model", "null", "--kv-dtype", "fp9"], "fp9"),
    (["--model", "null", "--max-running", "64", "--max-batch-tokens", "64"], "--max-running"),
    (["--model", "null", "--host", "not an address"], "not an address"),
    (["--model", "null", "--served-model-name", "a\nb"], "--served-model-name"),
    (["--model", "null", "--served-model-name", "x" * 257], "--served-model-name"),
    (["--model", "null", "--page-size", "256", "--kv-memory", "2047"], "one page takes 2048"),
    ([], "--model"),
])
def test_wrong_options(arguments, named):
    assert named in refused(*arguments)


def test_the_smallest_pool_is_one_page():
    for size in ("2048", "2049"):
        with banyan.serving("--page-size", "256", "--kv-memory", size) as server:
            assert server.get("/v1/models").json()["data"][0]["banyan"]["pages"] == 1


def test_options_come_from_the_environment_too():
    assert "BANYAN" not in refused("--model", "null", BANYAN_THREADS="0")
    assert "--model" not in refused("--port", "99999", BANYAN_MODEL="null")


def test_version_and_help():
    code, out, _ = banyan.run("--version")
    assert code == 0 and re.fullmatch(r"banyan \d+\.\d+\.\d+\n", out)
    code, out, _ = banyan.run("serve", "--help")
    assert code == 0 and "--kv-memory" in out


def test_a_second_server_on_the_same_port_says_so():
    with banyan.serving("--kv-memory", "64KiB") as server:
        line = refused("--model", "null", "--port", server.port)
        assert str(server.port) in line
        assert server.get("/health").status_code == 200, "the first one goes on"


def gguf(version=3, tensors=0, keys=(), tail=b""):
    """The beginning of a model file; keys are (name, type, bytes)."""
    data = b"GGUF" + struct.pack("<IQQ", version, tensors, len(keys))
    for name, kind, value in keys:
        data += struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value
    return data + tail


def string(text):
    return struct.pack("<Q", len(text)) + text


HOSTILE = {
    "empty": b"",
    "another format": b"PK\x03\x04" + b"\0" * 100,
    "only a magic number": b"GGUF",
    "version 1": gguf(version=1),
    "version from the future": gguf(version=4_000_000_000),
    "more keys than bytes": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60),
    "more tensors than bytes": gguf(tensors=1 << 60),
    "a key longer than the file": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 40),
    "a value of no type": gguf(keys=[(b"general.architecture", 99, b"")]),
    "a string longer than the file": gguf(keys=[(b"a", 8, struct.pack("<Q", (1 << 64) - 1))]),
    "an array of everything": gguf(keys=[(b"a", 9, struct.pack("<IQ", 8, 1 << 62))]),
    "an unknown architecture": gguf(keys=[(b"general.architecture", 8, string(b"perceptron"))]),
    "nothing in it": gguf(),
    "a line break in a name": gguf(keys=[(b"general.architecture", 8, string(b"a\nb\x1b[31m"))]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_model_files(tmp_path, name):
    path = tmp_path / "model.gguf"
    path.write_bytes(HOSTILE[name])
    assert str(path) in refused("--model", path, "--port", 0)


def test_truncated_model_files(tmp_path):
    whole = pathlib.Path(banyan.MODEL).read_bytes()
    for size in (10, 1000, 50_000, 3_000_000, len(whole) // 2, len(whole) - 1):
        path = tmp_path / f"{size}.gguf"
        path.write_bytes(whole[:size])
        assert str(path) in refused("--model", path, "--port", 0), size
        path.unlink()


def test_a_model_that_is_not_there(tmp_path):
    assert "nowhere.gguf" in refused("--model", tmp_path / "nowhere.gguf", "--port", 0)
    assert str(tmp_path) in refused("--model", tmp_path, "--port", 0), "a directory"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_server(number):
    server = banyan.Server("--kv-memory", "64KiB")
    server.signal(number)
    assert server.wait() == 0
    assert "draining" in server.stderr() and "stopped" in server.stderr()


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# Few enough tokens that even a stream that nobody reads for a while may hold them all.
@pytest.mark.parametrize("stream", [False, True])
def test_what_runs_is_finished_before_the_end(stream):
    server = banyan.Server("--kv-memory", "128KiB", "--drain-timeout", f"{banyan.PATIENCE}s")
    with server.raw_chat("finish me", max_tokens=10_000, ignore_eos=True,
                         stream=stream) as connection:
        banyan.eventually(lambda: server.metric("banyan_prompt_tokens_total") > 0, "it runs")
        server.signal(signal.SIGTERM)
        answer = b""
        while chunk := connection.recv(1 << 16):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 200 ")
    if stream:
        assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    else:
        assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["usage"]["completion_tokens"] == 10_000
    assert server.wait() == 0
    assert not is_listening(server.port)


def read_all(connection):
    data = b""
    while chunk := connection.recv(1 << 16):
        data += chunk
    return data


def chat_bytes(text, **members):
    body = json.dumps({"messages": banyan.as_messages(text), **members}).encode()
    return ("POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


@pytest.mark.parametrize("stream", [False, True])
def test_what_does_not_finish_in_time_is_told_so(stream):
    server = banyan.Server("--kv-memory", "8MiB", "--drain-timeout", "100ms", "--max-running", "1")
    with server.raw_chat("never", max_tokens=1_000_000, ignore_eos=True, stream=stream) as runs, \
            concurrent.futures.ThreadPoolExecutor() as pool:
        reading = pool.submit(read_all, runs)  # from the start, or it would be a slow reader
        banyan.eventually(lambda: server.metric("banyan_running_requests") == 1, "it runs")
        with server.raw_chat("waits", max_tokens=1, stream=stream) as waits:
            banyan.eventually(lambda: server.metric("banyan_waiting_requests") == 1, "it waits")
            server.signal(signal.SIGTERM)
            answer, other = reading.result(), read_all(waits)
    assert server.wait() == 0
    assert other.startswith(b"HTTP/1.1 503 ") and b"not_ready" in other
    if stream:
        head, _, last = answer.rstrip(b"0\r\n").rpartition(b"data: ")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert json.loads(last)["error"]["code"] == "not_ready"
    else:
        assert answer.startswith(b"HTTP/1.1 503 ") and b"not_ready" in answer
    assert server.stderr().count("finish_reason=shutdown") == 2


@pytest.mark.parametrize("stream", [False, True])
def test_while_it_drains_a_request_is_told_to_come_back(stream):
    server = banyan.Server("--kv-memory", "64KiB")
    request = chat_bytes("Hi", stream=stream)
    # The first bytes come with a request before them, whose answer says that they have been read.
    with server.raw(b"GET /health HTTP/1.1\r\nHost: t\r\n\r\n" + request[:40]) as connection:
        health = b""
        while not health.endswith(b"}"):
            health += connection.recv(1000)
        server.signal(signal.SIGTERM)
        banyan.eventually(lambda: "draining" in server.stderr(), "it drains")
        connection.sendall(request[40:])
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 503 ") and b"\r\nRetry-After: " in answer
    assert b'"code":"not_ready"' in answer
    assert server.wait() == 0


def test_logs_can_be_json():
    server = banyan.Server("--kv-memory", "64KiB", "--log-format", "json")
    answer = server.chat("Hi", max_tokens=3)
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.stderr().splitlines()]
    events = [line["event"] for line in lines]
    assert events == ["ready", "request finished", "draining", "stopped"]
    assert all(line["level"] == "info" and line["time"] for line in lines)
    assert lines[1]["id"] == answer.body["id"]
    assert lines[1]["output_tokens"] == answer.output
    assert lines[0]["pages"] == 512 and lines[0]["kv_bytes"] == 65536


def test_a_log_that_nobody_reads_does_not_keep_the_process():
    # Each request is a line, and a pipe holds 64 KiB of them.
    server = banyan.Server("--kv-memory", "64KiB", stderr=subprocess.PIPE)
    for _ in range(600):
        assert server.chat("Hi", max_tokens=1, ignore_eos=True).output == 1
    assert server.stop() == 0
    server.process.stderr.close()
