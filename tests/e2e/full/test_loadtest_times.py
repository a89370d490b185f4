"""Every figure that banyan-loadtest reports, against what a server with scripted delays wrote down when it did
it: within 1 ms or 1%, moments of the run within 1 ms, counts exact. For ./dev full, on a machine that does nothing
else.

Both processes read CLOCK_MONOTONIC, so a difference is the way between them and what the load tester adds; how
late the server is does not matter. When the run began is not in a report: it is taken to be when the request
that was fastest to arrive says it was, one moment for all of them.

Both run with a real-time priority where that is allowed (to root). Still a machine that is busy for a moment
makes single figures late, and no second time the same ones: so many measurements are made until one has every
figure right, and at most ATTEMPTS. What the load tester does wrong it does wrong each time.
"""
import collections
import csv
import dataclasses
import json
import math
import os
import signal
import subprocess
import sys

import pytest

import banyan

LOADTEST = os.environ.get("BANYAN_LOADTEST", "")
SERVER = os.path.join(os.path.dirname(__file__), "timed_server.py")
ATTEMPTS = 5
MS = 1_000_000
MIN_ERROR = 1 * MS
MIN_SHARE = 0.01
TIMEOUT_MS = 400
LATE = TIMEOUT_MS * MS / 16  # silence is noticed so late
TOKEN = "abc "  # of one length, so that bundles are told apart exactly


# What the server is told to do.

@dataclasses.dataclass
class Step:
    after_ms: float
    bytes: str
    contents: list = dataclasses.field(default_factory=list)  # tokens of each event with content
    ends: bool = False  # with this the answer is over
    then: str | None = None


@dataclasses.dataclass
class Turn:
    steps: list
    outcome: str = "ok"
    status: int = 200
    prompt: int | None = None
    cached: int | None = None
    output: int | None = None
    at_ms: float | None = None
    think_ms: float = 0


def event(value):
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n"


def chunk(text):
    return f"{len(text):x}\r\n{text}\r\n"


def content(*events):
    """Events of so many tokens each."""
    return "".join(event({"choices": [{"delta": {"content": TOKEN * n}}]}) for n in events)


HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ROLE = event({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
FINISH = event({"choices": [{"delta": {}, "finish_reason": "length"}]})
LAST_CHUNK = "0\r\n\r\n"


def begins(after_ms=1, also=ROLE):
    return Step(after_ms, HEAD + chunk(also))


def says(after_ms, *events):
    return Step(after_ms, chunk(content(*events)), list(events))


def answer(*steps, prompt=100, cached=0, closes_after_ms=0, **when):
    """A stream that ends well."""
    output = sum(n for step in steps for n in step.contents)
    usage = event({"choices": [], "usage": {
        "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": cached}}})
    end = chunk(FINISH + usage + event("[DONE]"))
    if closes_after_ms:
        last = [Step(4, end, ends=True), Step(closes_after_ms, LAST_CHUNK)]
    else:
        last = [Step(4, end + LAST_CHUNK, ends=True)]
    return Turn([*steps, *last], prompt=prompt, cached=cached, output=output, **when)


def fault(outcome, *steps, status=200, **when):
    return Turn(list(steps), outcome=outcome, status=status, **when)


def plain(first_ms=80, tokens=15, gap_ms=10, **rest):
    return answer(begins(), says(first_ms, 1), *[says(gap_ms, 1)] * (tokens - 1), **rest)


def bundled(**rest):
    return answer(begins(), says(60, 2), says(30, 1), says(45, 5), says(25, 1), says(50, 3, 1), **rest)


def paused(**rest):
    return answer(begins(), says(40, 1), says(12, 1), says(250, 1), says(12, 1), **rest)


def commented(**rest):
    """Comments while the prompt is computed; the role comes with the first content; a token in two halves."""
    half = content(1)
    return answer(Step(1, HEAD + chunk(": wait\n\n")), Step(30, chunk(": wait\n\n")),
                  Step(30, chunk(ROLE + content(1)), [1]), Step(20, f"{len(half):x}\r\n" + half[:20]),
                  Step(35, half[20:] + "\r\n", [1]), says(15, 1), **rest)


def whole(prompt=100, cached=80, **when):
    body = json.dumps({
        "choices": [{"message": {"role": "assistant", "content": TOKEN * 9}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 9,
                  "prompt_tokens_details": {"cached_tokens": cached}}})
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return Turn([Step(70, head + body[:30]), Step(40, body[30:], [9], ends=True)], prompt=prompt,
                cached=cached, output=9, **when)


def faults():
    refusal = "HTTP/1.1 429 X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    return [
        fault("reset", begins(), says(30, 1), says(20, 1), Step(25, "", ends=True, then="reset")),
        fault("truncated", begins(), says(30, 1), Step(25, "", ends=True, then="close")),
        fault("status", Step(20, refusal, ends=True), status=429),
        fault("error_event", begins(), says(20, 2),
              Step(15, chunk(event({"error": {"message": "a step failed"}})), ends=True)),
        fault("timeout", begins(), says(20, 1)),
        fault("empty", begins(), Step(30, chunk(FINISH + event("[DONE]")) + LAST_CHUNK, ends=True)),
    ]


def open_loop():
    """Conversations 50 ms after each other, of all kinds, many at once."""
    conversations = []
    for i in range(6):
        cached = 25 * (i % 5)
        conversations += [
            [plain(first_ms=60 + 30 * i, cached=cached)], [bundled(cached=cached)], [paused(cached=cached)],
            [commented(cached=cached)], [whole(cached=100 - cached)],
            # The second is due within the answer before, the third some time after an answer whose
            # connection is held a while.
            [plain(cached=0), bundled(cached=60, closes_after_ms=50, at_ms=45), paused(cached=90, think_ms=35)],
            [faults()[i]]]
    conversations.append([plain()])
    for i, turns in enumerate(conversations):
        turns[0].at_ms = 50 * i
        for turn in turns[1:]:
            if turn.at_ms is not None:
                turn.at_ms += 50 * i
    return conversations


def overload():
    """Due every 20 ms, of a client that may ask for one at a time: it is late, and later each time."""
    return [[plain(first_ms=30, tokens=6, gap_ms=5, at_ms=20 * i)] for i in range(12)]


def one_after_another():
    """No times: each when the one before is over, second turns after a think time."""
    return [[plain(first_ms=30 + 10 * i, tokens=8), bundled(cached=50, think_ms=40)] for i in range(6)]


# What was to be measured.

@dataclasses.dataclass
class Truth:
    """Times in nanoseconds since the run began."""
    scheduled: float
    lag: float
    sent: float
    contents: list  # (time, tokens) of each event
    end: float
    free: float  # when the connection was
    turn: Turn

    @property
    def late(self):
        """How late its end may be noticed."""
        return LATE if self.turn.outcome == "timeout" else 0

    @property
    def first(self):
        return self.contents[0][0] if self.contents else None

    @property
    def last(self):
        return self.contents[-1][0] if self.contents else None

    @property
    def tpot(self):
        if self.turn.output < 2 or len(self.contents) < 2:
            return None
        return (self.last - self.first) / (self.turn.output - 1)

    @property
    def gaps(self):
        """(gap, how many times)"""
        return [((b - a) / n, n) for (a, _), (b, n) in zip(self.contents, self.contents[1:])]


def names(conversations):
    return {(i, t): f"c{i} t{t}" for i, turns in enumerate(conversations) for t in range(1, len(turns) + 1)}


def truths(conversations, log, start, closed, places):
    """{(conversation, turn): Truth}, by what the server wrote down."""
    found = {}
    busy_until = 0  # with one place: when it is free
    for i, turns in enumerate(conversations):
        before = None
        for t, turn in enumerate(turns, 1):
            entry = log[f"c{i} t{t}"]
            steps = [at - start for at in entry["steps_ns"]]
            if before is None:
                scheduled = ready = busy_until if closed else turn.at_ms * MS
            elif turn.at_ms is not None:
                scheduled, ready = turn.at_ms * MS, max(turn.at_ms * MS, before.free)
            else:
                scheduled = before.end + turn.think_ms * MS
                ready = max(scheduled, before.free)
            ends = [at for at, step in zip(steps, turn.steps) if step.ends]
            end = ends[0] if ends else steps[-1] + TIMEOUT_MS * MS
            contents = [(at, n) for at, step in zip(steps, turn.steps) for n in step.contents]
            before = found[i, t] = Truth(
                scheduled=scheduled, lag=max(0, busy_until - ready) if places == 1 else 0,
                sent=entry["received_ns"] - start, contents=contents, end=end,
                free=max(end, steps[-1]), turn=turn)
            if places == 1:
                busy_until = before.free
    return found


# What was measured.

class Comparison:
    def __init__(self):
        self.wrong = []
        self.worst = (0, "")
        self.figures = 0

    def same(self, what, got, want):
        self.figures += 1
        if got != want:
            self.wrong.append(f"{what}: {got}, not {want}")

    def moment(self, what, got, want, late=0):
        """Since the run began: of such a time 1% would be much. `late`: how much later it may have been found out."""
        self.near(what, got, want, late, share=0)

    def near(self, what, got, want, late=0, share=MIN_SHARE):
        """Nanoseconds."""
        self.figures += 1
        if got is None or want is None:
            return self.same(what, got, want)
        off = got - want if not 0 < got - want <= late else 0
        if abs(off) > abs(self.worst[0]):
            self.worst = (off, what)
        if abs(off) > max(MIN_ERROR, share * abs(want)):
            self.wrong.append(f"{what}: {got / MS:.3f} ms, not {want / MS:.3f} ms")

    def close(self, what, got, want):
        """What is no time: within 1%."""
        self.figures += 1
        if abs(got - want) > MIN_SHARE * abs(want):
            self.wrong.append(f"{what}: {got}, not {want}")


def compare_requests(report, true, comparison):
    comparison.same("requests", len(report["requests"]), len(true))
    for got in report["requests"]:
        key = got["conversation"], got["turn"]
        want = true[key]
        name = f"c{key[0]} t{key[1]}"
        comparison.same(f"{name} outcome", got["outcome"], want.turn.outcome)
        comparison.same(f"{name} status", got["status"], want.turn.status)
        comparison.same(f"{name} events", got["content_events"], len(want.contents))
        for usage in ("prompt", "cached", "output"):
            comparison.same(f"{name} {usage}", got.get(f"{usage}_tokens"), getattr(want.turn, usage))
        comparison.moment(f"{name} scheduled", got["scheduled_ns"], want.scheduled)
        comparison.near(f"{name} lag", got["client_delay_ns"], want.lag)
        comparison.moment(f"{name} sent", got["sent_ns"], want.sent)
        comparison.moment(f"{name} first content", got.get("first_content_ns"), want.first)
        if want.contents:
            comparison.moment(f"{name} last content", got["last_content_ns"], want.last)
        comparison.moment(f"{name} end", got["end_ns"], want.end, late=want.late)


def quantile(weighted, part):
    """The smallest value such that at least `part` of all are not larger."""
    wanted = math.ceil(part * sum(n for _, n in weighted) - 1e-9)
    seen = 0
    for value, n in sorted(weighted):
        seen += n
        if seen >= wanted:
            return value
    raise AssertionError("no values")


def compare_distribution(what, got, weighted, comparison):
    count = sum(n for _, n in weighted)
    comparison.same(f"{what} count", got["count"], count)
    if count == 0:
        return
    comparison.near(f"{what} mean", got["mean_ms"] * MS, sum(v * n for v, n in weighted) / count)
    comparison.near(f"{what} min", got["min_ms"] * MS, min(weighted)[0])
    comparison.near(f"{what} max", got["max_ms"] * MS, max(weighted)[0])
    for name, part in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)):
        comparison.near(f"{what} {name}", got[f"{name}_ms"] * MS, quantile(weighted, part))


def compare_group(what, got, requests, comparison):
    def once(values):
        return [(value, 1) for value in values if value is not None]
    comparison.same(f"{what} answers", got.get("requests"), len(requests))
    comparison.same(f"{what} prompt tokens", got["prompt_tokens"], sum(r.turn.prompt for r in requests))
    comparison.same(f"{what} cached tokens", got["cached_tokens"], sum(r.turn.cached for r in requests))
    compare_distribution(f"{what} TTFT", got["ttft"], once(r.first - r.sent for r in requests), comparison)
    compare_distribution(f"{what} TTFT from scheduled", got["ttft_scheduled"],
                         once(r.first - r.scheduled for r in requests), comparison)
    compare_distribution(f"{what} TPOT", got["tpot"], once(r.tpot for r in requests), comparison)
    compare_distribution(f"{what} latency", got["latency"], once(r.end - r.sent for r in requests), comparison)


def hit_range(turn):
    rate = turn.cached / turn.prompt
    return ["none", "up to 25%", "25% to 50%", "50% to 75%", "over 75%"][math.ceil(4 * rate)]


def groups(requests, key):
    found = collections.defaultdict(list)
    for request in requests:
        found[key(request)].append(request)
    return found


def compare_summary(report, true, slo, comparison):
    summary = report["summary"]
    warm_up = report["warm_up_ns"]
    measured = {key: r for key, r in true.items() if r.scheduled >= warm_up}
    ok = {key: r for key, r in measured.items() if r.turn.outcome == "ok"}
    failed = collections.Counter(r.turn.outcome for r in measured.values() if r.turn.outcome != "ok")
    seconds = (max(r.free for r in true.values()) - warm_up) / 1e9
    tokens = sum(r.turn.output for r in ok.values())
    limited = {"ttft": [r.first - r.scheduled for r in ok.values()], "itl": [r.tpot or 0 for r in ok.values()],
               "e2e": [r.end - r.scheduled for r in ok.values()]}
    kept = sum(all(time <= slo[name] * MS for name, time in zip(limited, times))
               for times in zip(*limited.values()))
    for name, times in limited.items():
        if any(abs(time - slo[name] * MS) < 2 * MS for time in times):
            comparison.wrong.append(f"the server was so late that a time came near the limit of {name}")
    comparison.same("requests measured", summary["requests"], len(measured))
    comparison.same("answers", summary["ok"], len(ok))
    comparison.same("failed", summary["failed"], dict(failed))
    comparison.same("output tokens", summary["output_tokens"], tokens)
    comparison.same("share of goodput", round(summary["slo_share"] * len(measured), 6), kept)
    comparison.near("measured", summary["measured_s"] * 1e9, seconds * 1e9)
    comparison.close("answers/s", summary["requests_per_second"], len(ok) / seconds)
    comparison.close("output tokens/s", summary["output_tokens_per_second"], tokens / seconds)
    comparison.close("goodput", summary["goodput"], kept / seconds)
    comparison.same("usage missing", summary["usage_missing"], False)
    compare_distribution("ITL", summary["inter_token"], [g for r in ok.values() for g in r.gaps], comparison)
    compare_distribution("queueing", summary["queueing"],
                         [(r.sent - r.scheduled, 1) for r in measured.values()], comparison)
    compare_group("all", summary["all"], list(ok.values()), comparison)
    turns = groups(ok.items(), lambda item: str(item[0][1]))
    comparison.same("turns", sorted(g["turn"] for g in summary["by_turn"]), sorted(turns))
    for group in summary["by_turn"]:
        compare_group(f"turn {group['turn']}", group, [r for _, r in turns[group["turn"]]], comparison)
    ranges = groups(ok.values(), lambda r: hit_range(r.turn))
    comparison.same("ranges", sorted(g["cached"] for g in summary["by_hit_rate"]), sorted(ranges))
    for group in summary["by_hit_rate"]:
        compare_group(f"cached {group['cached']}", group, ranges[group["cached"]], comparison)


def compare_lag(report, true, comparison):
    lag = report["client"]["lag_ns"]
    late = [r.lag for r in true.values()]
    comparison.same("lag count", lag["count"], len(late))
    comparison.near("lag min", lag["min"], min(late))
    comparison.near("lag max", lag["max"], max(late))
    comparison.near("lag mean", lag["sum"] / lag["count"], sum(late) / len(late))
    comparison.same("client limited", report["summary"]["client_limited"],
                    quantile([(value, 1) for value in late], 0.99) > 10 * MS)


def compare_timeline(report, true, comparison):
    """What happened near the border of two seconds may be counted to either."""
    happened = {
        "sent": [(r.sent, 1) for r in true.values()],
        "finished": [(r.end, 1) for r in true.values() if r.turn.outcome == "ok"],
        "failed": [(r.end + r.late / 2, 1) for r in true.values() if r.turn.outcome != "ok"],
        "tokens": [(at, n if r.turn.output else 1) for r in true.values() for at, n in r.contents]}
    for what, events in happened.items():
        width = MIN_ERROR + (LATE / 2 if what == "failed" else 0)
        for i, second in enumerate(report["timeline"]):
            sure = sum(n for at, n in events if i * 1e9 + width <= at < (i + 1) * 1e9 - width)
            perhaps = sum(n for at, n in events if i * 1e9 - width <= at < (i + 1) * 1e9 + width)
            comparison.same(f"{what} in second {i}", min(max(second[what], sure), perhaps), second[what])
        comparison.same(f"{what} in all", sum(s[what] for s in report["timeline"]), sum(n for _, n in events))
    for i, second in enumerate(report["timeline"][:-1]):
        border = (i + 1) * 1e9
        sure = sum(r.sent + MIN_ERROR < border < r.end - MIN_ERROR for r in true.values())
        perhaps = sum(r.sent - MIN_ERROR < border < r.free + MIN_ERROR + r.late for r in true.values())
        comparison.same(f"in flight after second {i}", min(max(second["in_flight"], sure), perhaps),
                        second["in_flight"])
    comparison.same("in flight at the end", report["timeline"][-1]["in_flight"], 0)


def compare_csv(path, report, comparison):
    """The CSV has the JSON's times."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    comparison.same("lines", len(rows), len(report["requests"]))
    for row, request in zip(rows, report["requests"]):
        for name in ("scheduled", "sent", "first_content", "end", "client_delay"):
            ns = request.get(f"{name}_ns")
            comparison.same(name, row[f"{name}_ms"], "" if ns is None else f"{ns / MS:.6f}")
        if request["outcome"] == "ok":
            first, sent = request["first_content_ns"], request["sent_ns"]
            for name, ns in (("ttft", first - sent), ("ttft_scheduled", first - request["scheduled_ns"]),
                             ("latency", request["end_ns"] - sent)):
                comparison.same(name, row[f"{name}_ms"], f"{ns / MS:.6f}")


# Measuring.

def write_trace(path, conversations):
    with open(path, "w") as file:
        for i, turns in enumerate(conversations):
            lines = []
            for t, turn in enumerate(turns, 1):
                line = {"text": f"c{i} t{t}", "output_length": turn.output or 1}
                if turn.at_ms is not None:
                    line["timestamp"] = turn.at_ms
                elif t > 1:
                    line["delay"] = turn.think_ms
                lines.append(line)
            file.write(json.dumps({"session_id": f"s{i}", "turns": lines}) + "\n")


def write_script(path, conversations):
    script = {name: [{"after_ms": step.after_ms, "bytes": step.bytes, "then": step.then}
                     for step in conversations[i][t - 1].steps]
              for (i, t), name in names(conversations).items()}
    with open(path, "w") as file:
        json.dump(script, file)


def be_urgent():
    """Others then take no time from what is measured, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass


def measure(tmp_path, conversations, arguments):
    """(report, what the server wrote down)"""
    assert LOADTEST, "BANYAN_LOADTEST must name the built banyan-loadtest binary"
    write_trace(tmp_path / "trace.jsonl", conversations)
    write_script(tmp_path / "script.json", conversations)
    server = subprocess.Popen([sys.executable, SERVER, tmp_path / "script.json", tmp_path / "log.json"],
                              stdout=subprocess.PIPE, text=True, preexec_fn=be_urgent)
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        done = subprocess.run(
            [LOADTEST, "run", url, "--quiet", "--trace", tmp_path / "trace.jsonl", "--trace-format", "aiperf",
             "--timeout", f"{TIMEOUT_MS}ms", "--json", tmp_path / "run.json", "--csv", tmp_path / "run.csv",
             *map(str, arguments)],
            env=banyan.environment(), capture_output=True, text=True, timeout=banyan.PATIENCE,
            preexec_fn=be_urgent)
        assert done.returncode in (0, 3), (done.stdout, done.stderr)
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=banyan.PATIENCE)
    return json.loads((tmp_path / "run.json").read_text()), json.loads((tmp_path / "log.json").read_text())


def compare(tmp_path, conversations, arguments, e2e_ms, closed=False, places=None):
    slo = {"ttft": 140, "itl": 16, "e2e": e2e_ms}
    limits = "ttft={ttft}ms,itl={itl}ms,e2e={e2e}ms".format(**slo)
    report, log = measure(tmp_path, conversations, ["--slo", limits, *arguments])
    sent = {(r["conversation"], r["turn"]): r["sent_ns"] for r in report["requests"]}
    start = min(log[name]["received_ns"] - sent[key] for key, name in names(conversations).items() if key in sent)
    true = truths(conversations, log, start, closed, places)
    comparison = Comparison()
    compare_requests(report, true, comparison)
    compare_summary(report, true, slo, comparison)
    compare_lag(report, true, comparison)
    compare_timeline(report, true, comparison)
    compare_csv(tmp_path / "run.csv", report, comparison)
    return comparison


@pytest.mark.parametrize("name, conversations, arguments, how", [
    ("open loop", open_loop, ["--warm-up", "90ms"], {"e2e_ms": 345}),
    ("overload", overload, ["--max-in-flight", 1], {"e2e_ms": 400, "places": 1}),
    ("closed loop", one_after_another, ["--concurrency", 1], {"e2e_ms": 345, "closed": True, "places": 1}),
])
def test_every_figure_is_what_the_server_did(name, conversations, arguments, how, tmp_path, capsys):
    for attempt in range(1, ATTEMPTS + 1):
        comparison = compare(tmp_path, conversations(), arguments, **how)
        off, where = comparison.worst
        with capsys.disabled():
            print(f"\n{name}, measurement {attempt}: {comparison.figures} figures, {len(comparison.wrong)} of them "
                  f"wrong; furthest off: {where} by {off / MS:.3f} ms")
        if not comparison.wrong:
            return
    raise AssertionError("\n".join(comparison.wrong))
