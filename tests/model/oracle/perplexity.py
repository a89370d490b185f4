#!/usr/bin/env python3
"""Compares the perplexity of a text under Banyan with that under llama.cpp, with the same model file.

usage: perplexity.py --banyan BINARY --model MODEL.gguf --text FILE [--from LINE] [--windows 40] [--threads 2] [--formats]

Run by `./dev full` with a Python that has llama-cpp-python 0.3.36. Ours comes through the product: `/v1/completions`
with `echo`, `logprobs` and `max_tokens` 0. The text, from the given line on, becomes ids by llama.cpp and is cut
into windows of 512 tokens that do not overlap; where the model's files ask for a token that begins a text (Gemma),
each window begins with it, and has 511 of the text's. Both sides get the same ids. Every token of a window is
predicted from those before it in the window; the first is not. Perplexity is exp(-mean of the log-probabilities).
With --formats the same windows go through servers with other formats of KV pages, too, which are compared with our f16.
"""
import argparse
import contextlib
import json
import math
import pathlib
import re
import subprocess
import sys
import urllib.request

import llama_cpp
import numpy as np

WINDOW = 512
BOUND = 0.005  # of the difference, relative to llama.cpp's
FORMATS = {"bf16": 0.002, "fp8": 0.007, "int8": 0.001, "int4": 0.015}  # how much worse than f16, relative to it
BATCH = 64  # positions whose logits are looked at together


@contextlib.contextmanager
def serving(binary, model, threads, dtype="f16"):
    """The URL of a server of its own."""
    command = [binary, "serve", "--model", model, "--port", "0", "--threads", str(threads), "--kv-memory", "128MiB",
               "--kv-dtype", dtype]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            ready = next((found[1] for line in server.stdout if (found := re.search(r"ready on (http://\S+)", line))),
                         None)
            if ready is None:
                raise SystemExit(f"{' '.join(map(str, command))} did not get ready")
            yield ready
        finally:
            server.terminate()


def our_log_probabilities(url, window):
    body = dict(prompt=window, max_tokens=0, echo=True, logprobs=0)
    request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)["choices"][0]["logprobs"]["token_logprobs"][1:]


def peer_log_probabilities(peer, window):
    peer.reset()
    peer.eval(window)
    out = []
    for begin in range(0, len(window) - 1, BATCH):
        end = min(begin + BATCH, len(window) - 1)
        logits = peer.scores[begin:end].astype(np.float64)
        top = logits.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
        out += list(logits[np.arange(end - begin), window[begin + 1:end + 1]] - total)
    return out


def windows_of(peer, text, count):
    begin = peer.tokenize(b"", add_bos=True)
    tokens = peer.tokenize(text.encode(), add_bos=False, special=False)
    size = WINDOW - len(begin)
    if len(tokens) < size * count:
        raise SystemExit(f"the text has {len(tokens)} tokens, not {size * count}")
    return [begin + tokens[i * size:(i + 1) * size] for i in range(count)]


def perplexity(log_probabilities):
    return math.exp(-sum(log_probabilities) / len(log_probabilities))


def formats_hold(options, windows, f16):
    """Whether the perplexities with other formats are within their bounds of `f16`."""
    hold = True
    for dtype, bound in FORMATS.items():
        ours = []
        with serving(options.banyan, options.model, options.threads, dtype) as url:
            for window in windows:
                ours += our_log_probabilities(url, window)
        worse = perplexity(ours) / f16 - 1
        print(f"pages in {dtype}: {perplexity(ours):.4f}, {100 * worse:+.3f}% beside f16 (bound {100 * bound:g}%)")
        hold = hold and worse <= bound
    return hold


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banyan", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--from", dest="first", default="", help="the first line that begins so begins the text")
    parser.add_argument("--windows", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--formats", action="store_true", help="of KV pages, all of them")
    options = parser.parse_args()
    text = options.text.read_text(errors="replace")
    if options.first:
        text = text[text.index("\n" + options.first) + 1:]
    peer = llama_cpp.Llama(options.model, n_ctx=WINDOW, n_batch=WINDOW, n_threads=options.threads,
                           n_threads_batch=options.threads, logits_all=True, verbose=False)
    windows = windows_of(peer, text, options.windows)
    ours, theirs = [], []
    with serving(options.banyan, options.model, options.threads) as url:
        for window in windows:
            ours += our_log_probabilities(url, window)
            theirs += peer_log_probabilities(peer, window)
    a, b = perplexity(ours), perplexity(theirs)
    apart = np.abs(np.subtract(ours, theirs)).mean()
    print(f"{pathlib.Path(options.model).name}: perplexity over {len(ours)} tokens in {len(windows)} windows of "
          f"{WINDOW}: {a:.4f}, llama-cpp-python {llama_cpp.__version__} {b:.4f}, {100 * (a / b - 1):+.3f}% (bound "
          f"{100 * BOUND}%); a token's log-probability differs by {apart:.4f} on average")
    hold = not options.formats or formats_hold(options, windows, a)
    return 0 if hold and abs(a / b - 1) < BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
