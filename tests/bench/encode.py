#!/usr/bin/env python3
"""Times encoding beside the Hugging Face `tokenizers` library, in one run on one core, and prints JSON.

    encode.py --bench build/release/tests/bench/banyan_bench_text --model FILE.gguf

Two texts, in documents of about 8 KiB: "english" is this repository's documentation, its paragraphs
shuffled with a seed and joined to about 2 MiB; "mixed" is sentences in some forty scripts, likewise.
Both sides encode the same documents one after the other and must come to the same ids; the
reference is timed both by `encode` and by `encode_batch_fast`, and the quicker counts.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/text/oracle"))

from reference import File  # noqa: E402
from texts import SENTENCES  # noqa: E402

DOCUMENT = 8 << 10
TEXT = 2 << 20


def documents(parts, joint):
    rng = random.Random(7)
    made, total = [], 0
    while total < TEXT:
        rng.shuffle(parts)
        text = ""
        for part in parts:
            text += part + joint
            if len(text.encode()) >= DOCUMENT:
                break
        made.append(text)
        total += len(text.encode())
    return made


def english():
    parts = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        parts += re.split(r"\n\n+", path.read_text())
    return documents(parts, "\n\n")


def time_reference(tokenizer, texts, rounds):
    best = {}
    for _ in range(rounds):
        for name, run in (("encode", lambda: [tokenizer.encode(t, add_special_tokens=False) for t in texts]),
                          ("encode_batch_fast",
                           lambda: tokenizer.encode_batch_fast(texts, add_special_tokens=False))):
            started = time.perf_counter()
            run()
            seconds = time.perf_counter() - started
            best[name] = min(best.get(name, seconds), seconds)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    texts = {"english": english(), "mixed": documents(list(SENTENCES.values()), " ")}
    tokenizer, _ = File(args.model).tokenizers()
    with tempfile.TemporaryDirectory() as folder:
        for name, made in texts.items():
            pathlib.Path(folder, name + ".txt").write_text("\x1e".join(made))
        out = subprocess.run([args.bench, "--benchmark_format=json", f"--benchmark_repetitions={args.rounds}"],
                             env=os.environ | {"BANYAN_MODEL": args.model, "BANYAN_BENCH_TEXTS": folder},
                             check=True, capture_output=True, text=True).stdout
    rates = {}
    for run in json.loads(out)["benchmarks"]:
        if run["run_type"] == "iteration":
            rates[run["run_name"]] = max(rates.get(run["run_name"], 0), run["bytes_per_second"] / 1e6)
    results = {}
    for name, made in texts.items():
        size = sum(len(t.encode()) for t in made)
        reference = {how: round(size / s / 1e6, 2) for how, s in time_reference(tokenizer, made, args.rounds).items()}
        results[name] = {"bytes": size, "banyan_mb_per_s": round(rates[name], 1), "tokenizers_mb_per_s": reference,
                         "ratio": round(rates[name] / max(reference.values()), 1)}
    print(json.dumps({"model": pathlib.Path(args.model).name, "encode": results}, indent=2))


if __name__ == "__main__":
    main()
