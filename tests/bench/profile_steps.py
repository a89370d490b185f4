#!/usr/bin/env python3
"""Where a step of prefill and one of decoding spend their time, by perf: a table by groups of functions.

usage: profile_steps.py --steps BINARY --model MODEL.gguf [--threads 2] [--seconds 4] [--into FILE.md]

All threads are sampled, 1,999 times a second of processor time each, so that shares are of processor time. A thread
that waits for another spins for a while and is seen, then sleeps and is not.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

from machine import machine
from speed import write_into

STEPS = {"prefill": "prefill, 256 tokens behind 256", "decode": "decode, 1 token behind 512"}
# The first that is found in a function's name has it.
GROUPS = (
    ("attention", r"Attend|Attention|Softmax|::Merge|::Finish|Widen"),
    ("norms, gate, rope, page writes",
     r"RmsNorm|InverseRoot|::Emit|GateSilu|GateGelu|Quantize|Rotate|Store(F16|Bf16|Fp8|Int8)|PageStore|Rope|Embed"),
    ("products", r"MatMul|RegisterTile|Registers::Tile|OneTile|::Product|Greatest"),
    ("waiting for other threads", r"AwaitChange|ThreadPool"),
    ("sampling, and the model around its kernels", r"banyan::model"),
    ("system", r"^\[k\]|^\[\.\] _"),
)
OTHER = "other"


def group_of(function):
    return next((name for name, pattern in GROUPS if re.search(pattern, function)), OTHER)


def shorter(function):
    """Without arguments of templates and of calls: they can take a page."""
    name = re.sub(r"^\[.\] ", "", function).replace("(anonymous namespace)::", "")
    while (cut := re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}", "", name)) != name:
        name = cut
    return re.sub(r"(::)+", "::", name.replace("banyan::kernels::", "").replace("banyan::", "")).strip()


def shares(args, kind):
    """{function: share of the samples}"""
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder, "perf.data")
        command = [args.steps, args.model, kind, str(args.threads)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as steps:
            try:
                if steps.stdout.readline().strip() != "ready":
                    raise SystemExit(f"{' '.join(command)} did not get ready")
                subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-p", str(steps.pid), "-o",
                                data, "--", "sleep", str(args.seconds)], check=True)
            finally:
                steps.terminate()
        out = subprocess.run(["perf", "report", "-i", data, "--stdio", "--no-children", "--sort", "symbol",
                              "--field-separator", "\t"], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True).stdout
    found = {}
    for line in out.splitlines():
        if row := re.match(r" *([\d.]+)% *\t(\[.\] .*?) *(\t|$)", line):
            found[row[2]] = found.get(row[2], 0) + float(row[1])
    if not found:
        raise SystemExit("perf saw nothing; does this machine let it?")
    return found


def markdown(args, seen):
    groups, functions = collections.defaultdict(dict), collections.defaultdict(collections.Counter)
    for kind, found in seen.items():
        for function, share in found.items():
            group = group_of(function)
            groups[group][kind] = groups[group].get(kind, 0) + share
            functions[group][shorter(function)] += share
    facts = machine()
    lines = [f"{facts['cpu']}, {facts['cores']} cores, {facts['date']}, load {facts['load']}; "
             f"{pathlib.Path(args.model).name}, {args.threads} threads.", "",
             "| % of processor time | " + " | ".join(STEPS[kind] for kind in seen) + " | most of it in |",
             "|---|" + "---|" * (len(seen) + 1)]
    for group in sorted(groups, key=lambda name: -max(groups[name].values())):
        most = ", ".join(f"`{name}`" for name, _ in functions[group].most_common(3))
        numbers = " | ".join(f"{groups[group].get(kind, 0):.1f}" for kind in seen)
        lines.append(f"| {group} | {numbers} | {most} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--into", metavar="FILE.md", help="where to put the table as well")
    args = parser.parse_args()
    table = markdown(args, {kind: shares(args, kind) for kind in STEPS})
    print(table)
    if args.into:
        write_into(args.into, "profile", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
