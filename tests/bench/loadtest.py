#!/usr/bin/env python3
"""Measures the load tester itself, from one core, and prints one JSON object.

    loadtest.py --loadtest BINARY --null-server BINARY --model GGUF [--guidellm PYTHON] [--aiperf PYTHON]
                [--rounds 3] [--into FILE.md] [--output FILE]

The load tester runs on one processor, a server without a model (null_server.cc) on another.

  requests   answers of one token, closed loop: as many as it can.
  streams    streams whose tokens are sent one by one when they are due. The server says when it read the request and
             sent the first and the last token; what the load tester says of the same, by the same clock, is later by
             its lag. They begin evenly: in a closed loop those that end late together begin again together, and their
             tokens come in ever larger heaps.
  schedule   an open loop at a stated rate: from when a request was due to its first byte.
  open       streams open at once, and the memory that they take.
  long       two lengths of run, and what memory a request takes.

  peers      guidellm and aiperf, each by a Python that has it, on the same core against the same servers in the same
             round (loadtest_peers.py): what a second of the client's processor time is good for.

Figures are medians over the rounds.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import loadtest_peers as peers
from machine import machine
from results import emit
from server import Server, note
from speed import write_into

AT_ONCE = 64  # of the comparison; a worker of guidellm has at most 100
GAP_MS = 10
STREAM_TOKENS = 128
STREAMS_PER_S = 800  # 1,024 at once
OPEN = 10_000
SCHEDULE_RATE = 10_000


class NullServer(Server):
    def __init__(self, args, *options):
        command = ["taskset", "-c", str(args.server_cpu), args.null_server, *map(str, options)]
        self.start(command, self.printed, "/health", stdout=subprocess.PIPE)

    @staticmethod
    def printed(process):
        found = re.search(r"http://\S+", process.stdout.readline())
        return found and found[0]


class Run:
    """One run of the load tester: `report` is its JSON, `resident` what it held while it ran, in bytes."""

    def __init__(self, args, url, *options, watch=False):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "run.json")
            command = ["taskset", "-c", str(args.client_cpu), args.loadtest, "run", url, "--quiet", "--metrics-every",
                       "0", "--json", report, *map(str, options)]
            began = time.monotonic()
            with tempfile.TemporaryFile(mode="w+") as log:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
                samples = list(self.watched(process)) if watch else []
                if process.wait() != 0:
                    log.seek(0)
                    raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}: {log.read()}")
            self.report = json.loads(report.read_text())
            self.summary = self.report["summary"]
            # Not what it takes to write the report.
            over = began + self.report["duration_ns"] / 1e9
            self.resident = max((size for at, size in samples if at < over), default=None)

    @staticmethod
    def watched(process):
        while process.poll() is None:
            if size := re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text()):
                yield time.monotonic(), 1024 * int(size[1])
            time.sleep(0.1)


def percentile(values, share):
    values = sorted(values)
    return values[min(int(share * len(values)), len(values) - 1)]


def tiny(count):
    """Conversations of one question and an answer of one token."""
    return "--conversations", count, "--turns", 1, "--persona-tokens", 1, "--question-tokens", 8, "--answer-tokens", 1


def streams(count, tokens):
    return ("--conversations", count, "--turns", 1, "--persona-tokens", 1, "--question-tokens", 8,
            "--answer-tokens", f"{tokens},0")


def tokens_seen(report):
    """Per second, of the seconds that were measured whole."""
    begin = -(-report["warm_up_ns"] // 10**9)
    whole = report["timeline"][begin:report["duration_ns"] // 10**9 - 1]
    return statistics.median(second["tokens"] for second in whole)


def lags(report):
    """Of the first and the last token of each stream, in ms; never less than the truth. The clocks differ by when the
    run began; a request is read after it was sent, so that the least difference of these two is too large."""
    rows = []
    for r in report["requests"]:
        if r["outcome"] == "ok" and r["scheduled_ns"] >= report["warm_up_ns"]:
            rows.append((r, *map(int, r["finish_reason"].split())))
    apart = min(received - r["sent_ns"] for r, received, _, _ in rows)
    return [(seen + apart - sent) / 1e6 for r, _, first, last in rows
            for seen, sent in ((r["first_content_ns"], first), (r["last_content_ns"], last))]


def measure_requests(args):
    server = NullServer(args)
    try:
        run = Run(args, server.url, *tiny(args.requests), "--concurrency", AT_ONCE)
        return dict(per_s=run.summary["requests_per_second"], cpu_share=run.report["client"]["cpu_share"])
    finally:
        server.stop()


def measure_streams(args):
    server = NullServer(args, "--gap-ms", GAP_MS, "--first-ms", GAP_MS, "--stamps")
    try:
        run = Run(args, server.url, *streams(100_000, STREAM_TOKENS), "--rate", STREAMS_PER_S, "--arrivals", "constant",
                  "--warm-up", "4s", "--duration", f"{args.seconds + 4}s")
        lag = lags(run.report)
        gap = run.summary["inter_token"]
        return dict(tokens_per_s=tokens_seen(run.report), cpu_share=run.report["client"]["cpu_share"],
                    lag_p50_ms=percentile(lag, 0.5), lag_p99_ms=percentile(lag, 0.99), lag_max_ms=max(lag),
                    gap_p50_ms=gap["p50_ms"], gap_p99_ms=gap["p99_ms"], gap_max_ms=gap["max_ms"])
    finally:
        server.stop()


def measure_schedule(args):
    server = NullServer(args)
    try:
        run = Run(args, server.url, *tiny(SCHEDULE_RATE * args.seconds), "--rate", SCHEDULE_RATE)
        lag = run.summary["queueing"]
        return dict(per_s=run.summary["requests_per_second"], cpu_share=run.report["client"]["cpu_share"],
                    lag_p50_ms=lag["p50_ms"], lag_p99_ms=lag["p99_ms"], lag_max_ms=lag["max_ms"])
    finally:
        server.stop()


def measure_open(args):
    server = NullServer(args, "--gap-ms", 1000, "--first-ms", 1000)
    try:
        few = Run(args, server.url, *streams(2 * OPEN, 8), "--requests", 1, "--concurrency", 1, watch=True)
        many = Run(args, server.url, *streams(2 * OPEN, 8), "--concurrency", OPEN, "--ramp", "4s", watch=True)
        return dict(streams=max(second["in_flight"] for second in many.report["timeline"]),
                    resident_bytes=many.resident, bytes_per_stream=(many.resident - few.resident) / OPEN)
    finally:
        server.stop()


def measure_long(args):
    server = NullServer(args)
    try:
        short, long = args.requests, 4 * args.requests
        sizes = [Run(args, server.url, *tiny(long), "--requests", count, "--concurrency", AT_ONCE, watch=True).resident
                 for count in (short, long)]
        return dict(requests=long, resident_bytes=sizes[1], bytes_per_request=(sizes[1] - sizes[0]) / (long - short))
    finally:
        server.stop()


def per_cpu_second(run, count):
    return count / (run.report["client"]["cpu_share"] * run.report["duration_ns"] / 1e9)


def measure_peers(args):
    """What each does with a second of processor time."""
    server = NullServer(args)
    paced = NullServer(args, "--gap-ms", peers.GAP_MS, "--first-ms", peers.GAP_MS)
    try:
        out = {}
        for peer in args.peers:
            note(f"    {peer.name}")
            out[peer.name] = dict(requests=peer.requests(server.url, AT_ONCE),
                                  tokens=peer.tokens(paced.url, AT_ONCE, STREAM_TOKENS))
        tiny_run = Run(args, server.url, *tiny(args.requests), "--concurrency", AT_ONCE)
        run = Run(args, paced.url, *streams(4000, STREAM_TOKENS), "--concurrency", AT_ONCE)
        ours = dict(
            requests=dict(per_cpu_s=per_cpu_second(tiny_run, tiny_run.summary["ok"]),
                          own=tiny_run.summary["requests_per_second"]),
            tokens=dict(per_cpu_s=per_cpu_second(run, run.summary["output_tokens"]),
                        own=run.summary["output_tokens_per_second"]))
        for loads in out.values():
            for what, load in loads.items():
                load["ratio"] = ours[what]["per_cpu_s"] / load["per_cpu_s"]
        return dict(banyan=ours) | out
    finally:
        server.stop()
        paced.stop()


def medians(rounds):
    """Of equal nested dictionaries of numbers."""
    first = rounds[0]
    if isinstance(first, dict):
        return {key: medians([one[key] for one in rounds]) for key in first}
    return float(f"{statistics.median(rounds):.5g}")


def round_of(args):
    out = {}
    measures = dict(requests=measure_requests, streams=measure_streams, schedule=measure_schedule)
    if args.peers:
        measures["peers"] = measure_peers
    for name, measure in measures.items():
        note(f"  {name}")
        out[name] = measure(args)
    return out


def lag_row(title, values, target):
    return (title, f"{values['lag_p50_ms']:.2f} / {values['lag_p99_ms']:.2f} / {values['lag_max_ms']:.1f} ms", target)


def markdown(args, before, out):
    ours, streams_, schedule, open_, long = (out[key] for key in ("requests", "streams", "schedule", "open", "long"))
    rows = [
        (f"requests/s, answers of one token, {AT_ONCE} at once", f"{ours['per_s']:,.0f}", "5,000"),
        (f"tokens/s seen, {STREAMS_PER_S} streams a second (constant) of {STREAM_TOKENS} tokens, {GAP_MS} ms apart",
         f"{streams_['tokens_per_s']:,.0f}", "100,000"),
        ("processor that this takes", f"{100 * streams_['cpu_share']:.0f}%", ""),
        lag_row("lag of seeing those tokens, p50 / p99 / max", streams_, "p99 under 1 ms"),
        lag_row(f"lag of sending {SCHEDULE_RATE:,} requests/s (Poisson), p50 / p99 / max", schedule,
                "p99 under 1 ms"),
        ("streams open at once", f"{open_['streams']:,.0f}", f"{OPEN:,}"),
        ("memory with them", f"{open_['resident_bytes'] / 2**20:.0f} MiB, {open_['bytes_per_stream'] / 1024:.1f} KiB "
         "a stream", ""),
        (f"memory of a run of {long['requests']:,.0f} requests", f"{long['resident_bytes'] / 2**20:.0f} MiB, "
         f"{long['bytes_per_request']:.0f} bytes more a request", ""),
    ]
    after = machine()
    lines = [f"{before['cpu']}, {before['cores']} cores, {before['date']}, load {before['load']} before and "
             f"{after['load']} after. Medians of {args.rounds} rounds.", "",
             "| from one core | measured | at least |", "|---|---|---|"]
    lines += [f"| {title} | {value} | {target} |" for title, value, target in rows]
    if args.peers:
        lines += ["", f"| per second of the client's processor time, {AT_ONCE} at once | Banyan | peer | ratio | at least |",
                  "|---|---|---|---|---|"]
        for peer in args.peers:
            for what, title in (("requests", "requests, answers of one token"),
                                ("tokens", f"tokens, answers of {STREAM_TOKENS}")):
                load = out["peers"][peer.name][what]
                lines.append(f"| {title}, beside {peer.name} {peer.version} | "
                             f"{out['peers']['banyan'][what]['per_cpu_s']:,.0f} | {load['per_cpu_s']:,.0f} | "
                             f"{load['ratio']:.0f} | 10 |")
    return "\n".join(lines) + "\n"


def bench(args):
    out = dict(machine=machine(), rounds=[])
    for index in range(args.rounds):
        note(f"round {index + 1} of {args.rounds}")
        out["rounds"].append(round_of(args))
    out["medians"] = medians(out["rounds"])
    for name, measure in (("open", measure_open), ("long", measure_long)):  # bytes: once is enough
        note(name)
        out["medians"][name] = measure(args)
    out["peers"] = {peer.name: dict(version=peer.version, commands=peer.commands) for peer in args.peers}
    table = markdown(args, out["machine"], out["medians"])
    note("\n" + table)
    if args.into:
        write_into(args.into, "loadtest", table)
    return out


def processors():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise SystemExit("two processors are wanted: one for the client, one for the server")
    return cpus[:2]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--loadtest", required=True)
    ap.add_argument("--null-server", required=True)
    ap.add_argument("--guidellm", metavar="PYTHON")
    ap.add_argument("--aiperf", metavar="PYTHON")
    ap.add_argument("--model", required=True, help="whose tokenizer the peers get")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=int, default=8, help="of each measure that lasts as long as it is told")
    ap.add_argument("--requests", type=int, default=100_000, help="of `requests`; `long` has four times as many")
    ap.add_argument("--into", metavar="FILE.md", help="where to put the table as well")
    ap.add_argument("--output", help="a file for the JSON, besides standard output")
    args = ap.parse_args()
    args.client_cpu, args.server_cpu = processors()
    with peers.chosen(args) as args.peers:
        out = bench(args)
    emit(out, args.output)


if __name__ == "__main__":
    main()
