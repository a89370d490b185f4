#!/usr/bin/env python3
"""Simulates a trace and really runs it on this machine, and prints how far apart the two are, as one JSON object.

    fidelity.py --banyan BINARY --loadtest BINARY --model GGUF [--kv-memory 106MiB] [--into FILE.md] [--output FILE]

Both get the same conversations, in which the server's answers go back, at the same times, and a pool that their system
prompts and histories do not fit in. The costs are calibrated beforehand with other prompts, of other lengths, on a
server of its own (`banyan-loadtest calibrate`). Both begin with an empty cache.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

from machine import machine
from results import emit
from server import Banyan, note
from speed import write_into

# The beginning of the published traces repeats too little to tell a cache of the right size from any other.
WORK = ["--tenants", 3, "--personas", 4, "--zipf", 0.6, "--shared-tokens", 16, "--persona-tokens", "250,0.5",
        "--question-tokens", "30,0.5", "--answer-tokens", "24,0.4", "--turns", 4, "--think", "4s"]
MAX_BATCH_TOKENS, MIXED_PREFILL_TOKENS, MAX_RUNNING = 256, 16, 64
HIT_POINTS, TTFT_PERCENT = 1, 25  # apart, at most


def loadtest(args, *command):
    done = subprocess.run([args.loadtest, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"banyan-loadtest {' '.join(map(str, command))} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def serve(args):
    return Banyan(args, "--kv-memory", args.kv_memory, "--max-batch-tokens", str(MAX_BATCH_TOKENS),
                  "--mixed-prefill-tokens", str(MIXED_PREFILL_TOKENS), "--max-running", str(MAX_RUNNING))


def work(args):
    return [*WORK, "--conversations", args.conversations, "--rate", args.rate, "--seed", args.seed]


def calibrate(args):
    server = serve(args)
    try:
        cost = json.loads(loadtest(args, "calibrate", server.url, "--step-tokens", MAX_BATCH_TOKENS))
        return cost, server.facts()[1]
    finally:
        server.stop()


def predict(args, cost, facts):
    out = loadtest(args, "simulate", *work(args), "--costs", json.dumps(cost), "--page-tokens", facts["page_size"],
                   "--pool-pages", facts["pages"], "--max-batch-tokens", MAX_BATCH_TOKENS, "--mixed-prefill-tokens",
                   MIXED_PREFILL_TOKENS, "--max-running", MAX_RUNNING, "--json", "--quiet")
    row = json.loads(out)["rows"][0]
    return dict(requests=row["requests"] - row["refused"], prompt_tokens=row["prompt_tokens"],
                hit_rate=row["hit_rate"], ttft_mean_ms=row["ttft_ms"]["mean"], ttft_p50_ms=row["ttft_ms"]["p50"],
                ttft_p99_ms=row["ttft_ms"]["p99"], itl_mean_ms=row["itl_ms"]["mean"],
                latency_mean_ms=row["latency_ms"]["mean"], evicted_pages=row["evicted_pages"])


def run(args):
    server = serve(args)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.json")
            loadtest(args, "run", server.url, *work(args), "--api", "completions", "--json", path, "--quiet")
            summary = json.loads(path.read_text())["summary"]
        every = summary["all"]
        return dict(requests=summary["ok"], prompt_tokens=every["prompt_tokens"], hit_rate=every["hit_rate"],
                    ttft_mean_ms=every["ttft_scheduled"]["mean_ms"], ttft_p50_ms=every["ttft_scheduled"]["p50_ms"],
                    ttft_p99_ms=every["ttft_scheduled"]["p99_ms"], itl_mean_ms=summary["inter_token"]["mean_ms"],
                    latency_mean_ms=every["latency"]["mean_ms"], evicted_pages=server.metric(
                        "banyan_kv_evicted_pages_total"))
    finally:
        server.stop()


def markdown(args, before, out):
    predicted, measured = out["predicted"], out["measured"]

    def percent(name):
        return 100 * (predicted[name] / measured[name] - 1)

    def row(title, name, form, apart, target=""):
        return f"| {title} | {form(predicted[name])} | {form(measured[name])} | {apart} | {target} |"

    def time_row(title, name, target=""):
        return row(title, name, "{:.0f} ms".format, f"{percent(name):+.1f}%", target)

    points = 100 * (predicted["hit_rate"] - measured["hit_rate"])
    lines = [
        f"{before['cpu']}, {before['cores']} cores, {before['date']}, load {before['load']}. {measured['requests']} requests, "
        f"{measured['prompt_tokens']:,} prompt tokens, a pool of {out['pool_tokens']:,}.", "",
        "| | predicted | measured | apart | at most |", "|---|---|---|---|---|",
        row("prompt tokens", "prompt_tokens", "{:,}".format, f"{percent('prompt_tokens'):+.2f}%"),
        row("of them from the cache", "hit_rate", "{:.2%}".format, f"{points:+.2f} points", f"{HIT_POINTS} point"),
        row("pages evicted", "evicted_pages", "{:,}".format, f"{percent('evicted_pages'):+.1f}%"),
        time_row("mean TTFT", "ttft_mean_ms", f"{TTFT_PERCENT}%"),
        time_row("TTFT p50", "ttft_p50_ms"),
        time_row("TTFT p99", "ttft_p99_ms"),
        time_row("mean gap between tokens", "itl_mean_ms"),
        time_row("mean latency", "latency_mean_ms"),
    ]
    return "\n".join(lines) + "\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--banyan", required=True)
    ap.add_argument("--loadtest", required=True)
    ap.add_argument("--model", required=True)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--kv-memory", default="106MiB")
    ap.add_argument("--conversations", type=int, default=50)
    ap.add_argument("--rate", type=float, default=0.5, help="conversations a second (Poisson)")
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--server-arg", action="append", default=[], help="passed on to banyan serve")
    ap.add_argument("--into", metavar="FILE.md", help="where to put the table as well")
    ap.add_argument("--output", help="a file for the JSON, besides standard output")
    args = ap.parse_args()

    out = dict(machine=machine(), threads=args.threads, work=" ".join(map(str, work(args))))
    note("calibrating")
    out["cost"], facts = calibrate(args)
    out["pool_tokens"] = facts["pages"] * facts["page_size"]
    note("simulating")
    out["predicted"] = predict(args, out["cost"], facts)
    note("running")
    out["measured"] = run(args)
    points = 100 * abs(out["predicted"]["hit_rate"] - out["measured"]["hit_rate"])
    percent = 100 * abs(out["predicted"]["ttft_mean_ms"] / out["measured"]["ttft_mean_ms"] - 1)
    out["apart"] = dict(hit_points=round(points, 3), ttft_percent=round(percent, 2),
                        good=points <= HIT_POINTS and percent <= TTFT_PERCENT)
    table = markdown(args, out["machine"], out)
    note("\n" + table)
    if args.into:
        write_into(args.into, "fidelity", table)
    emit(out, args.output)


if __name__ == "__main__":
    main()
