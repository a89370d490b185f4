#!/usr/bin/env python3
"""Benchmarks a Banyan server, alone or beside a peer, and prints one JSON object.

  run.py --banyan BINARY --model GGUF [--peer URL [--peer-model NAME]] [--work speed,replay]
         [--threads 2] [--rounds 5] [--output FILE]     (--work also takes memory, pressure)

Starts its own server on a free port of 127.0.0.1. The peer is any OpenAI-compatible server that already
runs, with the same model and number of threads. Both do the same work in turn, A B A B, in one run;
the ratios (Banyan / peer, more is better) are what may be quoted, not the rates.

  speed   prefill: a new prompt of about 512 tokens, one token of answer; rate = computed prompt
          tokens / time to the end of the answer. decode: 64 tokens after a short prompt; rate = 63 /
          time from the first to the last token. Medians over the rounds.
  replay  loadtest/replay.py against both, one after the other; for each work the hit rate beside the ideal one, which
          a cache without bounds would have.
  pressure  what does not fit: a tenth of the memory that the work fills, with the cache and without it (only ours).
  memory  resident bytes of a server of its own (only ours) after work that filled its small pool, beside
          weights + pool.
"""
import argparse
import asyncio
import json
import os
import pathlib
import random
import re
import statistics
import time

import aiohttp

from machine import machine
from pressure import pressure
from replays import replay
from server import Banyan, note

WORDS = ("amber bridge copper dune engine forest garden hollow island jungle kettle lantern meadow needle "
         "orchard pepper quarry ribbon saddle temple umbrella valley window yellow").split()


def prose(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


async def chat(session, url, model, content, max_tokens):
    """(seconds to first content, seconds to the end, content events, usage)"""
    body = dict(model=model, messages=[dict(role="system", content=content[0]),
                                       dict(role="user", content=content[1])],
                max_tokens=max_tokens, temperature=0, ignore_eos=True, stream=True,
                stream_options=dict(include_usage=True))
    start = time.perf_counter()
    first = last = None
    usage = {}
    async with session.post(url + "/v1/chat/completions", json=body) as answer:
        if answer.status != 200:
            raise SystemExit(f"{url}: HTTP {answer.status}: {await answer.text()}")
        async for line in answer.content:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            usage = event.get("usage") or usage
            if any((choice.get("delta") or {}).get("content") for choice in event.get("choices") or []):
                last = time.perf_counter()
                first = first or last
    end = time.perf_counter()
    return (first or end) - start, end - start, (last or end) - (first or end), usage


async def speed_round(session, url, model, seed):
    rng = random.Random(seed)
    unique = f"{seed} {prose(rng, 10)}"
    _, whole, _, usage = await chat(session, url, model, (unique, prose(rng, 452)), 1)
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    prefill = (usage["prompt_tokens"] - cached) / whole
    _, _, decoding, _ = await chat(session, url, model, (f"{seed} d {prose(rng, 10)}", "Tell me a story."), 64)
    return dict(prompt_tokens=usage["prompt_tokens"], cached=cached, prefill=prefill, decode=63 / decoding)


async def speed(targets, rounds):
    rows = {name: [] for name in targets}
    # A connection per request: no keep-alive habit counts for or against anyone.
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600),
                                     connector=aiohttp.TCPConnector(force_close=True)) as session:
        for index in range(rounds + 1):
            for name, (url, model) in targets.items():
                row = await speed_round(session, url, model, f"{os.getpid()}-{index}")
                note(f"  {name}: prefill {row['prefill']:.0f} tok/s, decode {row['decode']:.1f} tok/s")
                if index > 0:  # the first round warms up
                    rows[name].append(row)
    median = {name: {key: statistics.median(r[key] for r in rows[name]) for key in ("prefill", "decode")}
              for name in rows}
    out = dict(prompt_tokens=rows["banyan"][0]["prompt_tokens"], tokens_per_second=median)
    if "peer" in rows:
        out["ratio"] = {key: round(statistics.median(
            a[key] / b[key] for a, b in zip(rows["banyan"], rows["peer"])), 3) for key in ("prefill", "decode")}
    return out


def memory(args):
    server = Banyan(args, "--kv-memory", "48MiB")
    try:
        name, facts = server.facts()
        # Together more tokens than the pool has, so that every page was written.
        asyncio.run(speed(dict(banyan=(server.url, name)), 2 + facts["pages"] * facts["page_size"] // 500))
        free = re.search(r'banyan_kv_pages\{state="free"\} (\d+)', server.get("/metrics"))
        expected = facts["weight_bytes"] + facts["kv_pool_bytes"]
        resident = server.resident_bytes()
        return dict(resident_bytes=resident, weight_bytes=facts["weight_bytes"],
                    kv_pool_bytes=facts["kv_pool_bytes"], free_pages=int(free[1]),
                    over_mib=round((resident - expected) / 2**20, 1))
    finally:
        server.stop()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--banyan", required=True)
    ap.add_argument("--model", required=True)
    ap.add_argument("--peer", help="base URL of a server to measure beside ours")
    ap.add_argument("--peer-model", default="default")
    ap.add_argument("--work", default="speed,memory")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--server-arg", action="append", default=[], help="passed on to banyan serve")
    ap.add_argument("--output", help="a file for the JSON, besides standard output")
    args = ap.parse_args()
    works = args.work.split(",")
    if unknown := set(works) - {"speed", "replay", "memory", "pressure"}:
        ap.error(f"unknown work: {', '.join(unknown)}")

    server = Banyan(args)
    try:
        targets = dict(banyan=(server.url, server.facts()[0]))
        if args.peer:
            targets["peer"] = (args.peer.rstrip("/"), args.peer_model)
        out = dict(machine=machine(), threads=args.threads, start_to_ready_s=round(server.start_s, 3))
        if "speed" in works:
            note("speed")
            out["speed"] = asyncio.run(speed(targets, args.rounds))
        if "replay" in works:
            note("replay")
            out["replay"] = replay(targets, args.seed, server.tokens_of)
    finally:
        server.stop()
    if "memory" in works:
        note("memory")
        out["memory"] = memory(args)
    if "pressure" in works:
        note("pressure")
        out["pressure"] = pressure(args)
    text = json.dumps(out, indent=1)
    print(text)
    if args.output:
        pathlib.Path(args.output).write_text(text + "\n")


if __name__ == "__main__":
    main()
