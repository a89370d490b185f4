#!/usr/bin/env python3
"""Replays the beginning of the conversation trace against Banyan and against llama.cpp's server, one after the other,
with banyan-loadtest, and compares the two.

  trace.py --banyan BINARY --loadtest BINARY --model GGUF --llama-server PATH --trace FILE --into FOLDER

Both have two threads, room for 32,768 tokens of keys and values, eight requests at once and their prompt caches on.
Lengths are a 32nd of the trace's: a block of 512 tokens becomes one of 16, and the longest prompt of all, 126,195
tokens, 3,944. Times are those of the trace by 5, so that a server of 300 tokens a second keeps up. Writes the reports
of both runs, their pages and that of the comparison into FOLDER. Takes six minutes a server.
"""
import argparse
import pathlib
import subprocess

from server import Banyan, LlamaServer, note

SLOTS = 8
CONTEXT = 32768
KV_MEMORY = "720MiB"  # CONTEXT tokens of SmolLM2 135M


def replay(args, server, name):
    note(f"{args.requests} requests against {name}")
    into = pathlib.Path(args.into)
    command = [args.loadtest, "run", server.url, "--trace", args.trace, "--trace-requests", args.requests,
               "--scale-lengths", args.scale_lengths, "--time-scale", args.time_scale, "--slo", "ttft=2s,itl=100ms",
               "--json", into / f"{name}.json", "--html", into / f"{name}.html"]
    done = subprocess.run(list(map(str, command)))
    if done.returncode not in (0, 3):  # 3: some requests failed, as the report says
        raise SystemExit(done.returncode)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("banyan", "loadtest", "model", "llama-server", "trace", "into"):
        ap.add_argument(f"--{name}", required=True)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--requests", type=int, default=200)
    ap.add_argument("--scale-lengths", type=float, default=1 / 32)
    ap.add_argument("--time-scale", type=float, default=5)
    ap.add_argument("--server-arg", action="append", default=[], help="passed on to banyan serve")
    args = ap.parse_args()
    into = pathlib.Path(args.into)
    into.mkdir(parents=True, exist_ok=True)
    servers = {
        "llama.cpp": lambda: LlamaServer(args.llama_server, args.model, args.threads, SLOTS, CONTEXT,
                                         "--cache-reuse", "16", "--metrics"),
        "banyan": lambda: Banyan(args, "--kv-memory", KV_MEMORY, "--max-running", str(SLOTS))}
    for name, start in servers.items():
        server = start()
        try:
            replay(args, server, name)
        finally:
            server.stop()
    subprocess.run([args.loadtest, "compare", into / "llama.cpp.json", into / "banyan.json", "--html",
                    into / "compare.html", "--json", into / "compare.json"], check=True)
    note(f"pages: {into}/compare.html, {into}/banyan.html, {into}/llama.cpp.html")


main()
