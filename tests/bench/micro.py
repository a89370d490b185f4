#!/usr/bin/env python3
"""Runs benchmarks of single parts, and prints one JSON object.

    micro.py --bench EXECUTABLE... [--sglang PYTHON] [--rounds 3] [--plot FILE.png] [--output FILE] [-- FLAGS]

Each EXECUTABLE is one of Google Benchmark, which gets FLAGS too (--benchmark_filter=REGEX). `ns` is the processor
time of one operation, beside the counters that the benchmark keeps: medians over the rounds. With --sglang, an
interpreter that can import sglang, sglang_radix.py runs at the same shapes in the same run. --plot draws what has
sizes (plot.py).
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from machine import machine
from results import emit

HERE = pathlib.Path(__file__).resolve().parent
# What every run of Google Benchmark has; everything else is a counter.
KNOWN = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
         "threads", "iterations", "real_time", "cpu_time", "time_unit", "items_per_second", "bytes_per_second", "label"}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def note(text):
    print(text, file=sys.stderr, flush=True)


def run_benchmarks(executable, rounds, flags):
    """{name: {"ns": .., counter: ..}}"""
    note(f"  {pathlib.Path(executable).name}")
    out = subprocess.run([executable, "--benchmark_format=json", f"--benchmark_repetitions={rounds}", *flags],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    seen = {}
    for run in json.loads(out)["benchmarks"]:
        if run["run_type"] != "iteration":
            continue
        if run.get("error_occurred"):
            raise SystemExit(f"{run['name']}: {run['error_message']}")
        values = {key: value for key, value in run.items() if key not in KNOWN}
        values["ns"] = values.pop("ns/op", run["cpu_time"] * UNITS[run["time_unit"]])
        seen.setdefault(re.sub(r"/(iterations:\d+|manual_time|real_time)", "", run["run_name"]), []).append(values)
    return {name: {key: float(f"{statistics.median(r[key] for r in runs):.6g}") for key in runs[0]}
            for name, runs in seen.items()}


def run_sglang(python):
    note("  sglang's radix cache")
    out = subprocess.run([python, "-W", "ignore", HERE / "sglang_radix.py"], check=True, stdout=subprocess.PIPE,
                         text=True, env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}).stdout
    return json.loads(out[out.index("{"):])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bench", action="append", required=True)
    ap.add_argument("--sglang", metavar="PYTHON")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--plot", metavar="FILE.png")
    ap.add_argument("--output", help="a file for the JSON, besides standard output")
    ap.add_argument("flags", nargs="*", help="of Google Benchmark, after --")
    args = ap.parse_args()
    out = {"machine": machine(), "benchmarks": {}}
    for executable in args.bench:
        out["benchmarks"] |= run_benchmarks(executable, args.rounds, args.flags)
    if args.sglang:
        theirs = out["sglang"] = run_sglang(args.sglang)
        ours = out["benchmarks"]
        out["times_quicker"] = {name: round(ns / ours[name.split(" ")[0]]["ns"], 1)
                                for name, ns in theirs["ns"].items() if name.split(" ")[0] in ours}
    emit(out, args.output)
    if args.plot:
        import plot  # only now: it needs matplotlib
        plot.draw(out["benchmarks"], args.plot)


if __name__ == "__main__":
    main()
