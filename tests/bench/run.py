#!/usr/bin/env python3
"""Benchmarks a Banyan server, alone or beside a peer, and prints one JSON object.

  run.py --banyan BINARY --model GGUF [--llama-server PATH | --peer URL [--peer-model NAME]]
         [--work speed,memory] [--rows REGEX] [--threads 2] [--rounds 5] [--output FILE] [--into FILE.md]

Starts servers of its own on free ports of 127.0.0.1. The peer is llama.cpp's server, by its path, started with the
same model and threads; or any OpenAI-compatible server that already runs with the default model. Both do the
same work in turn, A B A B, in one run; the ratios (Banyan / peer, more is better) are what may be quoted.

  speed   prefill and decode, alone and in batches, of several models (speed.py says how each is measured); --rows
          takes those whose names match. --into writes the table between two marks of a file.
  replay  loadtest/replay.py against both, one after the other; for each work the hit rate beside the ideal one, which
          a cache without bounds would have.
  pressure  what does not fit: a tenth of the memory that the work fills, with the cache and without it (only ours).
  small-kv  decode and capacity by the format of pages, and a long answer under a window (only ours; small_kv.py says
          how). --into as above.
  memory  resident bytes of a server of its own (only ours) after work that filled its small pool, beside
          weights + pool.
"""
import argparse
import re

from machine import machine
from pressure import pressure
from replays import replay
from results import emit
from server import Banyan, LlamaServer, note
import small_kv
import speed
from speed import Prompts, Row, rate, write_into


def fill(server, tokens):
    """Computes prompts of together more than so many tokens."""
    row = Row("", "", prompt=500)
    prompts = Prompts(server, 0)
    for _ in range(2 + tokens // row.prompt):
        rate(server, row, prompts.batch(row))


def memory(args):
    server = Banyan(args, "--kv-memory", "48MiB")
    try:
        _, facts = server.facts()
        fill(server, facts["pages"] * facts["page_size"])  # so that every page was written
        free = re.search(r'banyan_kv_pages\{state="free"\} (\d+)', server.get("/metrics"))
        expected = facts["weight_bytes"] + facts["kv_pool_bytes"]
        resident = server.resident_bytes()
        return dict(resident_bytes=resident, weight_bytes=facts["weight_bytes"],
                    kv_pool_bytes=facts["kv_pool_bytes"], free_pages=int(free[1]),
                    over_mib=round((resident - expected) / 2**20, 1))
    finally:
        server.stop()


def replays(args):
    server = Banyan(args)
    peer = None
    try:
        targets = dict(banyan=(server.url, server.name))
        if args.llama_server:
            peer = LlamaServer(args.llama_server, args.model, args.threads, slots=8, context=32768)
            targets["peer"] = (peer.url, peer.name)
        elif args.peer:
            targets["peer"] = (args.peer.rstrip("/"), args.peer_model)
        return replay(targets, args.seed, server.tokens_of)
    finally:
        server.stop()
        if peer:
            peer.stop()


def publish(args, work, table):
    note("\n" + table)
    if args.into:
        write_into(args.into, f"--work {work}", table)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--banyan", required=True)
    ap.add_argument("--model", required=True)
    ap.add_argument("--llama-server", metavar="PATH", help="llama.cpp's server, to be started beside ours")
    ap.add_argument("--peer", metavar="URL", help="of a server that runs, to measure beside ours")
    ap.add_argument("--peer-model", default="default")
    ap.add_argument("--work", default="speed,memory")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--rows", metavar="REGEX", default="", help="of speed: only the rows whose names it is found in")
    ap.add_argument("--context", type=int, default=4000, help="of small-kv: tokens of each; a window is an eighth of it")
    ap.add_argument("--into", metavar="FILE.md", help="of speed and small-kv: where to put the table as well")
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--server-arg", action="append", default=[], help="passed on to banyan serve")
    ap.add_argument("--output", help="a file for the JSON, besides standard output")
    args = ap.parse_args()
    if args.peer and args.llama_server:
        ap.error("one peer at a time: --peer or --llama-server")
    works = args.work.split(",")
    if unknown := set(works) - {"speed", "replay", "memory", "pressure", "small-kv"}:
        ap.error(f"unknown work: {', '.join(unknown)}")

    out = dict(machine=machine(), threads=args.threads)
    if "speed" in works:
        note("speed")
        out["speed"] = speed.speed(args)
        publish(args, "speed", speed.markdown(args, out["machine"], out["speed"]))
    if "replay" in works:
        note("replay")
        out["replay"] = replays(args)
    if "small-kv" in works:
        note("small-kv")
        out["small-kv"] = small_kv.small_kv(args)
        publish(args, "small-kv", small_kv.markdown(args, out["machine"], out["small-kv"]))
    if "memory" in works:
        note("memory")
        out["memory"] = memory(args)
    if "pressure" in works:
        note("pressure")
        out["pressure"] = pressure(args)
    emit(out, args.output)


if __name__ == "__main__":
    main()
