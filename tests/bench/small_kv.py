"""What small KV pages do for speed and capacity, and whether a bounded memory is flat: only ours.

  formats    A server for each format of pages, with pools of the same bytes. Requests with long prompts of their own
             decode at once, on one server after the other in each round; prompts are computed once, for a server finds
             them again in its cache. Rates are those of speed.py's `decode`; ratios those of a round to f16 in it.
  streaming  One answer, many times as long as its window. Its speed and the server's resident bytes, a window at a time.
"""
import contextlib
import json
import statistics
import threading
import time

from machine import machine
from server import Banyan, note
from speed import OWN, Prompts, Row, ask, decode

BATCH = 8
TOKENS = 64  # of each answer
# Times the f16 of the same round: decode, and tokens in the same bytes.
FORMATS = {"f16": (None, None), "bf16": (None, None), "fp8": (0.9, 1.99), "int8": (1.2, 1.93), "int4": (1.0, 3.1)}

SINKS = 4
WINDOWS = 20
POLICY_MEMORY = "64MiB"


def four(value):
    return float(f"{value:.4g}")


def formats(args, kv_memory):
    row = Row("small-kv", "", prompt=args.context - TOKENS // 2, tokens=TOKENS, batch=BATCH)
    with contextlib.ExitStack() as stack:
        servers = {}
        for name in FORMATS:
            servers[name] = Banyan(args, "--kv-memory", str(kv_memory), "--kv-dtype", name, "--max-running", str(BATCH))
            stack.callback(servers[name].stop)
        _, prompts = Prompts(servers["f16"], f"{args.seed}/small-kv").batch(row)
        for name, server in servers.items():
            note(f"  {name}: {BATCH} prompts of {row.prompt} tokens")
            for prompt in prompts:
                ask(server, prompt, 1)
        rounds = []
        for _ in range(args.rounds):
            rounds.append({name: decode(server, None, prompts, TOKENS) for name, server in servers.items()})
            note("    " + ", ".join(f"{name} {rate:.4g}" for name, rate in rounds[-1].items()))
        out = {}
        for name, server in servers.items():
            _, facts = server.facts()
            out[name] = dict(tokens_per_s=four(statistics.median(r[name] for r in rounds)),
                             of_f16=round(statistics.median(r[name] / r["f16"] for r in rounds), 2),
                             of_f16_at_least=FORMATS[name][0],
                             tokens=facts["pages"] * facts["page_size"], tokens_of_f16_at_least=FORMATS[name][1],
                             resident_mib=round(server.resident_bytes() / 2**20))
        for entry in out.values():
            entry["tokens_of_f16"] = round(entry["tokens"] / out["f16"]["tokens"], 3)
        return out


class Resident(threading.Thread):
    """Resident bytes of a server, ten times a second until it is told to end."""

    def __init__(self, server):
        super().__init__()
        self.server, self.seen, self.end = server, [], threading.Event()

    def run(self):
        while not self.end.wait(0.1):
            self.seen.append((time.perf_counter(), self.server.resident_bytes()))

    def at(self, moment):
        return max((seen for seen in self.seen if seen[0] <= moment), default=self.seen[0])[1]


def streaming(args):
    window = args.context // 8
    policy = dict(type="streaming", sinks=SINKS, window=window - SINKS)
    note(f"  {WINDOWS} windows of {window} tokens")
    server = Banyan(args, "--kv-memory", POLICY_MEMORY)
    resident = Resident(server)
    try:
        _, (prompt,) = Prompts(server, f"{args.seed}/streaming").batch(Row("", "", prompt=OWN))
        ask(server, prompt, 4)
        resident.start()
        times, usage = ask(server, prompt, WINDOWS * window, kv_policy=policy)
        ends = [times[(i + 1) * len(times) // WINDOWS - 1] for i in range(WINDOWS)]
        rates = [window / (after - before) for before, after in zip(ends, ends[1:])]
        quarter = len(rates) // 4
        return dict(policy=policy, tokens=usage["completion_tokens"], windows=WINDOWS,
                    tokens_per_s=[four(rate) for rate in rates],
                    last_quarter_of_first=round(statistics.median(rates[-quarter:]) /
                                                statistics.median(rates[:quarter]), 3),
                    resident_mib=[round(resident.at(end) / 2**20, 1) for end in ends])
    finally:
        resident.end.set()
        server.stop()


def small_kv(args):
    note(" formats")
    # Enough for all of them in f16, at SmolLM2's 23,040 bytes a token.
    kv_memory = BATCH * (args.context + TOKENS) * 24 << 10
    out = dict(formats=formats(args, kv_memory), batch=BATCH, context=args.context, kv_memory=kv_memory)
    note(" streaming")
    out["streaming"] = streaming(args)
    return out


def markdown(args, before, out):
    """The tables, with what they were measured on."""
    after = machine()
    memory = f"{out['kv_memory'] >> 20} MiB"
    lines = [f"{before['cpu']}, {before['cores']} cores, {before['date']}, load {before['load']} before and "
             f"{after['load']} after. {args.threads} threads, medians of {args.rounds} rounds.", "",
             f"| pages | decode, {out['batch']} at once at {out['context']:,} tokens each, tokens/s | beside f16 | "
             f"at least | tokens in {memory} | beside f16 | at least | MiB resident |", "|---|---|---|---|---|---|---|---|"]
    for name, r in out["formats"].items():
        lines.append(f"| {name} | {r['tokens_per_s']:.4g} | {r['of_f16']} | {r['of_f16_at_least'] or ''} | "
                     f"{r['tokens']:,} | {r['tokens_of_f16']} | {r['tokens_of_f16_at_least'] or ''} | "
                     f"{r['resident_mib']} |")
    r = out["streaming"]
    rates, resident = r["tokens_per_s"], r["resident_mib"]
    lines += ["", f"One answer of {r['tokens']:,} tokens with `{json.dumps(r['policy'])}`, {r['windows']} times what it sees:", "",
              "| | first full window | median | last window | last quarter beside the first |", "|---|---|---|---|---|",
              f"| tokens/s | {rates[0]:.4g} | {statistics.median(rates):.4g} | {rates[-1]:.4g} | "
              f"{r['last_quarter_of_first']} |",
              f"| MiB resident | {resident[0]} | {statistics.median(resident)} | {resident[-1]} | |"]
    return "\n".join(lines) + "\n"
