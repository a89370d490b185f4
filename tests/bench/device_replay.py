#!/usr/bin/env python3
"""Conversations that are made up, from the load tester to the server on a device, with its cache and without: one line of
JSON for each.

usage: device_replay.py MODEL [SECONDS]        (with BANYAN_BIN and BANYAN_LOADTEST; MODEL may be compressed: .xz)
"""
import contextlib
import json
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import banyan

CONVERSATIONS = ["--generate", "--conversations", "100000", "--turns", "4", "--concurrency", "32", "--grace", "10s"]


@contextlib.contextmanager
def unpacked(model):
    if model.suffix != ".xz":
        yield model
        return
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        with lzma.open(model) as packed:
            shutil.copyfileobj(packed, file)
        file.flush()
        yield file.name


def replay(model, seconds, caching):
    with banyan.serving("--backend", "cuda", "--max-batch-tokens", "2048", "--prefix-caching", caching,
                        model=str(model)) as server, tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([os.environ["BANYAN_LOADTEST"], "run", server.url, *CONVERSATIONS, "--duration", f"{seconds}s",
                        "--quiet", "--json", report.name], stdout=subprocess.DEVNULL, check=True)
        summary = json.load(report)["summary"]
    first = summary["all"]["ttft"]
    print(json.dumps({"what": "replay", "prefix_caching": caching, "requests": summary["ok"],
                      "hit_rate": summary["all"]["hit_rate"], "per_second": summary["output_tokens_per_second"],
                      "ttft_p50_ms": first["p50_ms"], "ttft_p99_ms": first["p99_ms"]}), flush=True)


def main():
    seconds = sys.argv[2] if len(sys.argv) > 2 else "10"
    with unpacked(pathlib.Path(sys.argv[1])) as model:
        for caching in ("on", "off"):
            replay(model, seconds, caching)


if __name__ == "__main__":
    main()
