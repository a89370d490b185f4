"""Prefill and decode, alone and in batches, beside a peer: the rows of the table, and how each is measured.

Prompts are token ids, the same for both sides and never sent before, made of words so that answers are text.
Requests are /v1/completions with temperature 0 and ignore_eos, over a connection each.

  prefill   one request for one token: prompt tokens that were computed / time to the end of its answer.
  decode    streams of `tokens` tokens each. Tokens are counted as they arrive, in the time in which all requests of the
            batch are being answered: from the latest first token to the earliest last one, first tokens left out.
            So nobody's prompt is in it.
  shared    the batch's prompts begin with the same tokens, which one request has asked for before.

The share of the bandwidth is what a step has to read at least, weights and the keys and values of the context, times
the rate, over what this machine reads; that is measured again in each round, by `banyan bench kernels --roofs`.
"""
import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time
import urllib.parse

from machine import machine
from server import Banyan, LlamaServer, note

HERE = pathlib.Path(__file__).resolve().parent
WORDS = ("amber bridge copper dune engine forest garden hollow island jungle kettle lantern meadow needle "
         "orchard pepper quarry ribbon saddle temple umbrella valley window yellow").split()
OWN = 16  # tokens of a prompt behind what it shares


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    title: str
    model: str = "smollm2"
    prompt: int = OWN  # tokens
    tokens: int = 1  # of each answer; 1: it is the prompt that is measured
    batch: int = 1
    shared: int = 0  # leading tokens of the prompts that are the same
    at_least: float | None = None  # times the peer's rate
    of_bandwidth: float | None = None
    peer: bool = True

    @property
    def decodes(self):
        return self.tokens > 1

    @property
    def context(self):
        return self.batch * (self.prompt + self.tokens)


def stack_rows(kind):
    model, title = f"stack-{kind}", f"8B-shaped stack {kind}"
    return (Row(f"{model}-prefill-128", f"{title}, prefill 128", model, prompt=128, at_least=1.5),
            Row(f"{model}-decode-16", f"{title}, decode 16", model, tokens=16, at_least=1.0, of_bandwidth=0.9))


ROWS = (
    Row("smollm2-prefill-512", "SmolLM2, prefill 512", prompt=512, at_least=4),
    Row("smollm2-prefill-2048", "SmolLM2, prefill 2048", prompt=2048, at_least=4),
    Row("smollm2-decode-64", "SmolLM2, decode 64", tokens=64, at_least=1.9, of_bandwidth=0.85),
    # So long that all are being answered at once for a while.
    Row("smollm2-batch-16", "SmolLM2, decode 256, 16 at once with prompts of 256", prompt=256, tokens=256, batch=16,
        at_least=4),
    Row("smollm2-shared-8", "SmolLM2, decode 64, 8 at once under 1,024 shared tokens", prompt=1024 + OWN, tokens=64,
        batch=8, shared=1024, at_least=5),
    Row("smollm2-long", "SmolLM2, decode 64 at 8,000 tokens of context", prompt=8000, tokens=64, of_bandwidth=0.9,
        peer=False),
    Row("gemma3-prefill-512", "Gemma 3 270M Q4_K_M, prefill 512", "gemma3-270m", prompt=512, at_least=2),
    Row("gemma3-decode-64", "Gemma 3 270M Q4_K_M, decode 64", "gemma3-270m", tokens=64, at_least=1.4),
    *stack_rows("Q4_0"),
    *stack_rows("Q4_K"),
)


class Prompts:
    """New ones with every call, the same on every run."""

    def __init__(self, server, seed):
        self.begin = server.tokens_of_text("")  # what the model wants in front
        self.words = server.tokens_of_text(" " + " ".join(WORDS))[len(self.begin):]
        self.random = random.Random(seed)

    def some(self, count):
        return [self.random.choice(self.words) for _ in range(count)]

    def batch(self, row):
        """(what the prompts share, the prompts)"""
        shared = (self.begin + self.some(row.shared))[:row.shared]
        start = shared or self.begin
        return shared, [start + self.some(row.prompt - len(start)) for _ in range(row.batch)]


def ask(server, prompt, tokens, **more):
    """([times at which text came], usage); `more` are members of the request"""
    body = dict(model=server.name, prompt=prompt, max_tokens=tokens, temperature=0, ignore_eos=True, stream=True,
                stream_options=dict(include_usage=True), **more)
    # What reads here takes the processor from the servers: no event loop, and nothing is looked at before the end.
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=3600)
    chunks = []
    with contextlib.closing(connection):
        connection.request("POST", "/v1/completions", json.dumps(body),
                           {"Content-Type": "application/json", "Connection": "close"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"{server.url}: HTTP {answer.status}: {answer.read().decode(errors='replace')}")
        while data := answer.read1():
            chunks.append((time.perf_counter(), data))
    times, usage, rest = [], {}, b""
    for at, data in chunks:
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data: {"):
                event = json.loads(line[6:])
                usage = event.get("usage") or usage
                times += [at for choice in event.get("choices") or [] if choice.get("text")]
    if usage["completion_tokens"] != tokens:
        raise SystemExit(f"{server.url}: {usage}, not {tokens} tokens")
    return times, usage


def prefill(server, prompt):
    start = time.perf_counter()
    _, usage = ask(server, prompt, 1)
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return (usage["prompt_tokens"] - cached) / (time.perf_counter() - start)


def decode(server, shared, prompts, tokens):
    if shared:
        ask(server, shared, 1)
    with concurrent.futures.ThreadPoolExecutor(len(prompts)) as threads:
        answers = list(threads.map(lambda prompt: ask(server, prompt, tokens), prompts))
    begin = max(times[0] if times else 0 for times, _ in answers)
    end = min(times[-1] if times else 0 for times, _ in answers)
    if begin >= end:
        raise SystemExit(f"{server.url}: never were all {len(prompts)} answered at once")
    # An event is a token but where a character took several.
    count = sum(sum(begin < at <= end for at in times) * tokens / len(times) for times, _ in answers)
    return count / (end - begin)


def rate(server, row, batch):
    shared, prompts = batch
    return decode(server, shared, prompts, row.tokens) if row.decodes else prefill(server, prompts[0])


def bandwidth(args):
    """Bytes per second that as many threads read."""
    out = subprocess.run([args.banyan, "bench", "kernels", "--roofs", "--json", "--threads", str(args.threads),
                          "--time", "600ms"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)["roofs"]["memory_bytes_per_second"]


def model_path(args, name):
    if name == "smollm2":
        return args.model
    if name.startswith("stack-"):
        path = HERE.parents[1] / f"build/bench/{name}.gguf"
        if not path.exists():
            note(f"  making {path}")
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([sys.executable, HERE / "make_stack.py", "--tokenizer", args.model, "--type",
                            name.removeprefix("stack-"), path], check=True)
        return str(path)
    return subprocess.run([args.banyan, "model", "get", name], check=True, stdout=subprocess.PIPE, text=True,
                          ).stdout.strip()


def round_of(args, row, sides, prompts):
    """One measurement of each side, and of the bandwidth where one request decodes."""
    batch = prompts.batch(row)
    result = {name: rate(server, row, batch) for name, server in sides.items()}
    if row.decodes and row.batch == 1:
        _, facts = sides["banyan"].facts()
        context = row.prompt + row.tokens / 2
        result["bandwidth"] = bandwidth(args)
        needed = facts["weight_bytes"] + facts["kv_bytes_per_token"] * context
        result["of_bandwidth"] = result["banyan"] * needed / result["bandwidth"]
    note("    " + ", ".join(f"{name} {value:.4g}" for name, value in result.items()))
    return result


def measure(args, row):
    """What is said of one row; medians over the rounds, of ratios those of the rounds' own."""
    note(f"  {row.title}")
    path = model_path(args, row.model)
    sides = dict(banyan=Banyan(args, model=path))
    try:
        if args.llama_server and row.peer:
            # Old prompts need not be kept: none comes again.
            sides["peer"] = LlamaServer(args.llama_server, path, args.threads, row.batch, row.context + 256,
                                        "--cache-ram", "0")
        elif args.peer and row.peer:
            sides["peer"] = Running(args.peer, args.peer_model)
        prompts = Prompts(sides["banyan"], f"{args.seed}/{row.name}")
        for server in sides.values():  # so that nobody's first request counts
            rate(server, Row("", "", tokens=4), prompts.batch(Row("", "")))
        rounds = [round_of(args, row, sides, prompts) for _ in range(args.rounds)]
        out = dict(row=row.name, title=row.title, at_least=row.at_least, of_bandwidth_at_least=row.of_bandwidth)
        for name in rounds[0]:
            out[name] = float(f"{statistics.median(r[name] for r in rounds):.4g}")
        if "peer" in sides:
            out["ratio"] = round(statistics.median(r["banyan"] / r["peer"] for r in rounds), 2)
        owned = {name: server for name, server in sides.items() if isinstance(server, (Banyan, LlamaServer))}
        out["start_s"] = {name: round(server.start_s, 2) for name, server in owned.items()}
        out["resident_mib"] = {name: round(server.resident_bytes() / 2**20) for name, server in owned.items()}
        if hasattr(sides.get("peer"), "version"):
            out["peer_version"] = sides["peer"].version()
        return out
    finally:
        for server in sides.values():
            server.stop()


class Running:
    """A server that somebody else started and will stop."""

    def __init__(self, url, name):
        self.url, self.name = url.rstrip("/"), name

    def stop(self):
        pass


def rows_for(args):
    rows = [row for row in ROWS if re.search(args.rows, row.name)]
    if not rows:
        raise SystemExit(f"no row is called {args.rows}; there are {', '.join(row.name for row in ROWS)}")
    # A running peer has one model, which is ours.
    return [row for row in rows if not args.peer or row.model == "smollm2"]


def speed(args):
    return [measure(args, row) for row in rows_for(args)]


def share(value):
    return "" if value is None else f"{100 * value:.0f}%"


def markdown(args, before, results):
    """The table, with what it was measured on."""
    after = machine()
    other = "the peer" if args.peer else "llama.cpp"
    peer = next((r["peer_version"] for r in results if "peer_version" in r), None)
    lines = [f"{before['cpu']}, {before['cores']} cores, {before['date']}, load {before['load']} before and "
             f"{after['load']} after. {args.threads} threads each, medians of {args.rounds} rounds"
             + (f", llama-server {peer}." if peer else "."), "",
             f"| work, tokens/s | Banyan | {other} | ratio | at least | of the bandwidth | at least |",
             "|---|---|---|---|---|---|---|"]
    for r in results:
        lines.append(f"| {r['title']} | {r['banyan']:.4g} | {r['peer']:.4g} | {r['ratio']} |" if "peer" in r else
                     f"| {r['title']} | {r['banyan']:.4g} | | |")
        lines[-1] += (f" {r['at_least'] or ''} | {share(r.get('of_bandwidth'))} | "
                      f"{share(r['of_bandwidth_at_least'])} |")
    lines += ["",
              f"| the server after its first row | ready after, s: Banyan | {other} | MiB resident: Banyan | {other} |",
              "|---|---|---|---|---|"]
    first = {}
    for r in results:
        first.setdefault(r["title"].split(",")[0], r)
    for model, r in first.items():
        cells = [str(r[key].get(side, "")) for key in ("start_s", "resident_mib") for side in ("banyan", "peer")]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_into(path, verb, table):
    """Replaces what is between two marks in the file."""
    begin, end = f"<!-- ./dev bench {verb} -->\n", "<!-- end -->\n"
    head, found, rest = pathlib.Path(path).read_text().partition(begin)
    _, ended, tail = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"{path} lacks the lines {begin.strip()} and {end.strip()}")
    pathlib.Path(path).write_text(head + begin + table + end + tail)
