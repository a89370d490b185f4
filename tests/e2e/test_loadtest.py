"""banyan-loadtest run, against servers that behave and servers that do not. No time is asserted."""
import collections
import csv
import json
import os
import signal
import socket
import subprocess

import pytest

import banyan
import scripted

LOADTEST = os.environ.get("BANYAN_LOADTEST", "")


def command(url, *arguments):
    assert LOADTEST, "BANYAN_LOADTEST must name the built banyan-loadtest binary"
    return [LOADTEST, "run", url, "--quiet", *map(str, arguments)]


def run(url, *arguments):
    """(exit code, stdout, stderr)"""
    done = subprocess.run(command(url, *arguments), env=banyan.environment(), capture_output=True,
                          text=True, timeout=banyan.PATIENCE)
    return done.returncode, done.stdout, done.stderr


def measure(tmp_path, url, *arguments, code=0):
    """The report as JSON of a run that ends with `code`."""
    path = tmp_path / "run.json"
    got, out, err = run(url, "--json", path, *arguments)
    assert got == code, (got, out, err)
    assert out, "the table is always printed"
    return json.loads(path.read_text())


def single(count):
    """Conversations of one turn, one after another: request k is conversation k."""
    return "--conversations", count, "--turns", 1, "--concurrency", 1


def outcomes(report):
    return [r["outcome"] for r in sorted(report["requests"], key=lambda r: r["conversation"])]


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# Against Banyan.

def test_turns_of_conversations_hit_the_cache(null, tmp_path):
    report = measure(tmp_path, null.url, "--conversations", 4, "--turns", 3, "--concurrency", 2,
                     "--persona-tokens", 30, "--question-tokens", 10, "--answer-tokens", 8,
                     "--shared-tokens", 4, "--csv", tmp_path / "run.csv",
                     "--html", tmp_path / "run.html")
    requests = report["requests"]
    assert len(requests) == 12
    assert {r["outcome"] for r in requests} == {"ok"}
    assert {r["output_tokens"] for r in requests} == {8}, "what was asked for"
    assert sorted(r["turn"] for r in requests) == [1] * 4 + [2] * 4 + [3] * 4
    assert all(r["cached_tokens"] > 0 for r in requests if r["turn"] > 1)
    assert report["summary"]["output_tokens"] == 96
    assert report["summary"]["failed"] == {}
    assert not report["interrupted"]
    assert report["server"], "/metrics was asked"
    assert sum(s["sent"] for s in report["timeline"]) == 12
    assert sum(s["finished"] for s in report["timeline"]) == 12
    with open(tmp_path / "run.csv", newline="") as file:
        assert len(list(csv.reader(file))) == 13
    assert "<svg" in (tmp_path / "run.html").read_text()


def test_prompts_have_the_tokens_that_were_wanted(null, tmp_path):
    # The null model's tokens are bytes, so that letters are what has one token each.
    report = measure(tmp_path, null.url, *single(3), "--persona-tokens", 50, "--shared-tokens", 1,
                     "--question-tokens", 20, "--api", "completions")
    assert report["facts"]["prompt lengths"].startswith("exact")
    for request in report["requests"]:
        assert request["wanted_prompt_tokens"] == 71
        assert 0 <= request["prompt_tokens"] - 71 <= 1, "but for a token that begins every prompt"


def test_an_open_loop_sends_when_it_is_due(null, tmp_path):
    report = measure(tmp_path, null.url, "--conversations", 20, "--turns", 1, "--rate", 100,
                     "--arrivals", "constant")
    due = sorted(r["scheduled_ns"] for r in report["requests"])
    assert len(due) == 20
    assert all(abs(b - a - 10_000_000) <= 1 for a, b in zip(due, due[1:]))
    assert all(r["sent_ns"] >= r["scheduled_ns"] for r in report["requests"])


def test_a_trace_is_replayed(null, tmp_path):
    trace = tmp_path / "trace.jsonl"
    lines = [{"timestamp": 10 * i, "input_length": 700, "output_length": 5,
              "hash_ids": [0, i + 1]} for i in range(6)]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines[:3]) + "what\n" +
                     "".join(json.dumps(line) + "\n" for line in lines[3:]))
    arguments = "--trace", trace, "--trace-format", "mooncake", "--api", "completions"
    code, _, err = run(null.url, *arguments)
    assert code == 1 and "4" in err, "a bad line is fatal and named"
    report = measure(tmp_path, null.url, *arguments, "--skip-bad-lines")
    requests = sorted(report["requests"], key=lambda r: r["conversation"])
    assert [r["outcome"] for r in requests] == ["ok"] * 6
    assert [r["scheduled_ns"] for r in requests] == [10_000_000 * i for i in range(6)]
    assert {r["output_tokens"] for r in requests} == {5}
    assert {r["wanted_prompt_tokens"] for r in requests} == {700}
    assert all(r["cached_tokens"] >= 512 for r in requests[1:]), "equal ids are equal prefixes"


def test_a_sweep_has_a_line_and_a_report_per_step(null, tmp_path):
    code, out, err = run(null.url, "--conversations", 6, "--turns", 1, "--sweep", "concurrency=1,2",
                         "--json", tmp_path / "s.json", "--html", tmp_path / "s.html")
    assert code == 0, err
    steps = [json.loads((tmp_path / f"s-concurrency-{n}.json").read_text()) for n in (1, 2)
             if (tmp_path / f"s-concurrency-{n}.json").exists()]
    assert steps
    assert all(len(step["requests"]) == 6 for step in steps)
    assert sum(line.strip().startswith(("1 ", "2 ")) for line in out.splitlines()) == len(steps)
    assert (tmp_path / "s.html").exists()


# What is sent.

def test_answers_headers_and_extra_members_are_sent(tmp_path):
    with scripted.serving("ok") as server:
        report = measure(tmp_path, server.url + "/v1/", "--conversations", 1, "--turns", 2,
                         "--concurrency", 1, "--api-key", "sk-1", "--header", "X-Team: a b",
                         "--extra-body", '{"priority":3,"temperature":1}', "--answer-tokens", 4)
        assert outcomes(report) == ["ok", "ok"]
        path, headers = server.heads[1]
        first, second = server.bodies
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer sk-1"
    assert headers["X-Team"] == "a b"
    assert first["model"] == "scripted"
    assert (first["priority"], first["temperature"]) == (3, 1)
    assert first["max_tokens"] == 4 and first["ignore_eos"] and first["stream"]
    assert second["messages"][:len(first["messages"])] == first["messages"]
    answer = second["messages"][len(first["messages"])]
    assert answer == {"role": "assistant", "content": "Hi there"}
    assert [r["prompt_tokens"] for r in report["requests"]] == [40, 40]
    assert [r["cached_tokens"] for r in report["requests"]] == [30, 30]
    assert [r["content_events"] for r in report["requests"]] == [2, 2]


def test_requests_have_a_bound(tmp_path):
    for most in (4, 5, 6):
        with scripted.serving("ok") as server:
            report = measure(tmp_path, server.url, "--conversations", 5, "--turns", 1,
                             "--concurrency", 2, "--requests", most)
            assert len(report["requests"]) == len(server.bodies) == min(most, 5)


# What goes wrong.

def test_every_fault_is_counted_by_its_kind(tmp_path):
    script = {"ok": "ok", "bundled": "ok", "unstreamed": "ok", "status": "status",
              "error_event": "error_event", "empty": "empty", "undone": "truncated",
              "truncated": "truncated", "garbage": "malformed", "not_json": "malformed",
              "not_http": "malformed", "half_head": "truncated", "long_head": "malformed",
              "gzip": "malformed", "page": "malformed", "nothing": "truncated", "reset": "reset"}
    with scripted.serving(*script) as server:
        report = measure(tmp_path, server.url, *single(len(script)), code=3)
    assert outcomes(report) == list(script.values())
    failed = collections.Counter(kind for kind in script.values() if kind != "ok")
    assert report["summary"]["failed"] == dict(failed)
    assert report["summary"]["ok"] == 3
    assert all(r.get("error") for r in report["requests"] if r["outcome"] != "ok")
    by_number = {r["conversation"]: r for r in report["requests"]}
    assert by_number[1]["content_events"] == 2
    assert by_number[2]["content_events"] == 1
    assert by_number[3]["error"] == "status 429: the queue is full"
    assert by_number[4]["error"] == "a step failed"
    assert sum(s["failed"] for s in report["timeline"]) == sum(failed.values())


def test_a_failed_turn_ends_its_conversation(tmp_path):
    with scripted.serving("ok", "status", "ok") as server:
        report = measure(tmp_path, server.url, "--conversations", 2, "--turns", 3,
                         "--concurrency", 1, code=3)
    assert [(r["conversation"], r["turn"], r["outcome"]) for r in report["requests"]] == [
        (0, 1, "ok"), (0, 2, "status"), (1, 1, "ok"), (1, 2, "ok"), (1, 3, "ok")]


def test_a_server_without_a_list_of_models_wants_a_model_named(tmp_path):
    for status in (302, 404, 500):
        with scripted.serving("ok") as server:
            server.models_status = status
            code, _, err = run(server.url, *single(1))
            assert code == 1 and f"status {status}" in err and "--model" in err, err
            report = measure(tmp_path, server.url, *single(1), "--model", "mine")
            assert outcomes(report) == ["ok"]
            assert server.bodies[0]["model"] == "mine"


def test_a_server_that_is_down_is_said():
    code, out, err = run(f"http://127.0.0.1:{closed_port()}", "--concurrency", 1)
    assert code == 2
    assert not out
    assert err.startswith("banyan-loadtest: ")


def test_a_server_that_dies_is_counted(tmp_path):
    with scripted.serving("ok", "ok", "die") as server:
        report = measure(tmp_path, server.url, *single(8), code=3)
    # The fourth finds that the connection of the third has ended, and then nobody who listens.
    assert outcomes(report) == ["ok"] * 3 + ["refused"] * 5


def ended(server):
    return sum(value for name, value in server.metrics().items() if name.startswith("banyan_requests_total"))


def test_banyan_killed_in_a_run_is_counted(tmp_path):
    server = banyan.Server("--kv-memory", "1MiB")
    path = tmp_path / "run.json"
    process = subprocess.Popen(command(server.url, "--conversations", 4000, "--turns", 5,
                                       "--concurrency", 4, "--persona-tokens", 20, "--answer-tokens", 2,
                                       "--json", path),
                               env=banyan.environment(), stdout=subprocess.PIPE, text=True)
    # More than are asked at a time, so that the first of them have been read.
    banyan.eventually(lambda: ended(server) > 8, "requests")
    server.process.kill()
    server.wait()
    process.communicate(timeout=banyan.PATIENCE)
    report = json.loads(path.read_text())
    assert process.returncode == 3
    failed = [r for r in report["requests"] if r["outcome"] != "ok"]
    assert {r["outcome"] for r in failed} <= {"refused", "reset", "truncated"}
    assert len({r["conversation"] for r in failed}) == len(failed) >= 4


def test_a_server_that_hangs_is_a_timeout(tmp_path):
    with scripted.serving("hang") as server:
        report = measure(tmp_path, server.url, *single(2), "--timeout", "200ms", code=3)
    assert outcomes(report) == ["timeout"] * 2
    assert [r["content_events"] for r in report["requests"]] == [1, 1]


def test_what_is_in_flight_at_the_end_is_interrupted(tmp_path):
    with scripted.serving("hang") as server:
        report = measure(tmp_path, server.url, "--conversations", 9, "--concurrency", 3,
                         "--duration", "200ms", "--grace", "100ms", code=3)
    assert outcomes(report) == ["interrupted"] * 3
    assert not report["interrupted"]


def test_a_stream_without_end_is_interrupted(tmp_path):
    with scripted.serving("endless") as server:
        report = measure(tmp_path, server.url, *single(3), "--duration", "200ms", "--grace", "100ms",
                         code=3)
    assert outcomes(report) == ["interrupted"]


def test_a_sweep_whose_server_dies_shows_the_steps_before(tmp_path):
    with scripted.serving("ok", "ok", "die") as server:
        code, out, err = run(server.url, "--conversations", 3, "--turns", 1, "--sweep",
                             "concurrency=1,2", "--html", tmp_path / "s.html")
        server.socket = socket.socket()
    assert code == 2, err
    assert sum(line.strip().startswith("1 ") for line in out.splitlines()) == 1
    assert "cannot connect" in err
    assert (tmp_path / "s.html").exists()


def test_ctrl_c_in_a_sweep_shows_the_steps_so_far():
    with scripted.serving("ok", "ok", "ok", "hang") as server:
        process = subprocess.Popen(command(server.url, "--conversations", 2, "--turns", 1, "--sweep",
                                           "concurrency=1,2"),
                                   env=banyan.environment(), stdout=subprocess.PIPE, text=True)
        banyan.eventually(lambda: len(server.bodies) == 4, "the second step")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=banyan.PATIENCE)
    assert process.returncode == 130
    assert [line.split()[0] for line in out.splitlines()] == ["concurrency", "1", "2"], "no knee either"


def test_ctrl_c_prints_what_was_measured(tmp_path):
    path = tmp_path / "run.json"
    with scripted.serving("ok", "ok", "hang") as server:
        process = subprocess.Popen(command(server.url, *single(5), "--json", path),
                                   env=banyan.environment(), stdout=subprocess.PIPE, text=True)
        banyan.eventually(lambda: len(server.bodies) == 3, "the third request")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=banyan.PATIENCE)
    assert process.returncode == 130
    assert out
    report = json.loads(path.read_text())
    assert report["interrupted"]
    assert outcomes(report) == ["ok", "ok", "interrupted"]


def test_a_report_that_cannot_be_written_is_said(tmp_path):
    with scripted.serving("ok") as server:
        code, out, err = run(server.url, *single(1), "--json", tmp_path / "none" / "run.json")
    assert code == 1
    assert "TTFT" in out, "the table all the same"
    assert "run.json" in err


def test_a_full_disk_is_said_and_the_table_printed():
    with scripted.serving("ok") as server:
        code, out, err = run(server.url, *single(1), "--json", "/dev/full", "--csv", "/dev/full",
                             "--html", "/dev/full")
    assert code == 1
    assert "TTFT" in out
    assert err.splitlines() == ["banyan-loadtest: cannot write /dev/full: No space left on device"] * 3


def test_a_table_that_cannot_be_printed_is_no_success():
    with scripted.serving("ok") as server, open("/dev/full", "w") as full:
        done = subprocess.run(command(server.url, *single(1)), env=banyan.environment(), stdout=full,
                              timeout=banyan.PATIENCE)
    assert done.returncode == 1


@pytest.mark.parametrize("arguments", [
    ("--model", "other", "--concurrency", 1),
    ("--concurrency", 1, "--rate", 2),
    ("--concurrency", -1),
    ("--arrivals", "gamma"),
    ("--arrivals", "sometimes"),
    ("--sweep", "speed=1"),
    ("--sweep", "concurrency=1,2", "--rate", 3),
    ("--sweep", "concurrency=1,2", "--arrivals", "constant"),
    ("--rate", 3, "--burstiness", 2),
    ("--rate", "nan"),
    ("--timeout", 0),
    ("--temperature", "nan", "--concurrency", 1),
    ("--requests", -1),
    ("--max-in-flight", 0),
    ("--ramp-steps", -1),
    ("--persona-tokens", "many"),
    ("--question-tokens", "-3"),
    ("--scale-lengths", 0),
    ("--max-prompt-tokens", -1),
    ("--time-scale", "inf"),
    ("--trace", "/dev/null"),
    ("--ca-file", "/nowhere/ca.pem"),
    ("--header", "Content-Length: 3"),
    ("--api-key", "a\nb"),
    ("--extra-body", '{"model":"other"}'),
    ("--slo", "ttft"),
    ("--duration", "soon"),
    ("--warm-up", "2s", "--duration", "1s"),
    ("--trace", "/nowhere/trace.jsonl"),
    ("--extra-body", "[1]"),
    ("--header", "no colon"),
    ("--what",),
])
def test_options_that_make_no_sense_are_refused(arguments):
    with scripted.serving("ok") as server:
        code, out, err = run(server.url, *arguments)
        assert code == 1, (out, err)
        assert not out
        assert err.startswith("banyan-loadtest: ")
        assert not server.bodies


def test_an_address_that_makes_no_sense_is_refused():
    for url in ("ftp://x", "http://", "127.0.0.1:8080", "http://x/?a=1"):
        assert run(url)[0] == 1, url
