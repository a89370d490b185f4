"""What does not fit: a small pool, with the cache and without it, and a pulse of more than it can hold."""
import asyncio
import random
import time

import aiohttp

from replays import Seen, ideal, run
from server import Banyan, note

MEMORY = "32MiB"
# Requests of each phase, and how many of them at once.
PHASES = (("before", 32, 4), ("pulse", 64, 64), ("after", 32, 4))
ANSWER = 32


async def phase(url, model, name, requests, at_once):
    """Output tokens per second. Nothing that is asked was asked before."""
    gate = asyncio.Semaphore(at_once)

    async def one(session, index):
        rng = random.Random(f"{name}/{index}")
        content = " ".join(str(rng.randrange(1000)) for _ in range(60))
        body = dict(model=model, messages=[dict(role="user", content=content)], max_tokens=ANSWER, temperature=0,
                    ignore_eos=True)
        async with gate, session.post(url + "/v1/chat/completions", json=body) as answer:
            if answer.status != 200:
                raise SystemExit(f"{url}: HTTP {answer.status}: {await answer.text()}")
            return (await answer.json())["usage"]["completion_tokens"]

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600),
                                     connector=aiohttp.TCPConnector(limit=0, force_close=True)) as session:
        start = time.perf_counter()
        tokens = sum(await asyncio.gather(*(one(session, i) for i in range(requests))))
        return tokens / (time.perf_counter() - start)


def conversations(args, *more):
    """replay.py's turns, on a server of its own."""
    server = Banyan(args, "--kv-memory", MEMORY, *more)
    try:
        name, facts = server.facts()
        result, bodies = run(server.url, name, args.seed, "turns")
        result = result["turns"]
        seen = Seen()
        ideal(bodies, server.tokens_of, seen)
        return dict(requests_per_s=round(result["requests"] / result["wall_s"], 3), errors=result["errors"],
                    answers_sha256=result["answers_sha256"], prompt_tokens=result["prompt_tokens"],
                    computed_tokens=server.metric("banyan_computed_prompt_tokens_total") +
                    server.metric("banyan_recomputed_tokens_total"),
                    preemptions=server.metric("banyan_preemptions_total"),
                    work_over_pool=round(seen.tokens / (facts["pages"] * facts["page_size"]), 1))
    finally:
        server.stop()


def pulse(args):
    server = Banyan(args, "--kv-memory", MEMORY)
    try:
        name, _ = server.facts()
        asyncio.run(phase(server.url, name, "warm", 4, 4))
        rates = {phase_name: round(asyncio.run(phase(server.url, name, phase_name, requests, at_once)), 1)
                 for phase_name, requests, at_once in PHASES}
        return dict(output_tokens_per_s=rates, after_over_before=round(rates["after"] / rates["before"], 3),
                    preemptions=server.metric("banyan_preemptions_total"))
    finally:
        server.stop()


def pressure(args):
    note("  turns with the cache")
    on = conversations(args)
    note("  turns without it")
    off = conversations(args, "--prefix-caching", "off")
    note("  a pulse")
    return dict(kv_memory=MEMORY, cache_on=on, cache_off=off,
                requests_per_s_ratio=round(on["requests_per_s"] / off["requests_per_s"], 3),
                same_answers=on["answers_sha256"] == off["answers_sha256"], pulse=pulse(args))
