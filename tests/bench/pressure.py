"""What does not fit: a small pool, with the cache and without it, and a pulse of more than it can hold."""
import concurrent.futures
import random
import time

from replays import Seen, ideal, run
from server import Banyan, note

MEMORY = "32MiB"
# Requests of each phase, and how many of them at once.
PHASES = (("before", 32, 4), ("pulse", 64, 64), ("after", 32, 4))
ANSWER = 32


def phase(server, name, requests, at_once):
    """Output tokens per second. Nothing that is asked was asked before."""
    def one(index):
        rng = random.Random(f"{name}/{index}")
        content = " ".join(str(rng.randrange(1000)) for _ in range(60))
        body = dict(model=server.name, messages=[dict(role="user", content=content)], max_tokens=ANSWER, temperature=0,
                    ignore_eos=True)
        return server.post("/v1/chat/completions", body, timeout=600)["usage"]["completion_tokens"]

    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        tokens = sum(threads.map(one, range(requests)))
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
        phase(server, "warm", 4, 4)
        rates = {name: round(phase(server, name, requests, at_once), 1) for name, requests, at_once in PHASES}
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
