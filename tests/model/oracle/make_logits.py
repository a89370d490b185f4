#!/usr/bin/env python3
"""Logits of a GGUF file in float64 (decoder.py), as a golden for tests/model/golden_test.cc.

usage: make_logits.py MODEL.gguf > NAME_logits.txt
       make_logits.py MODEL.gguf --int8     how far int8 activations alone move the logits that the golden keeps

The goldens name the versions they were made with: gguf 0.19.0, numpy 2.4.6, tokenizers 0.23.3 (the last only turns
the prompts below into ids).
"""
import hashlib
import importlib.metadata
import sys

import numpy as np
import tokenizers

import decoder

CHAT = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n" \
       "<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n"
PROMPTS = [
    "The",
    "The capital of France is",
    CHAT % "What is the capital of France?",
    CHAT % "Name three primes over 10.",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return",
    "1, 2, 3, 4, 5, 6, 7, 8, 9,",
    "Die Hauptstadt von Deutschland ist",
    "\u4e2d\u56fd\u7684\u9996\u90fd\u662f \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "<html>\n  <head>\n    <title>",
    " " * 40 + "\t\n\n\n",
    "Water boils at 100 degrees Celsius at sea level. " * 9 + "Water boils at",
    "Once upon a time, in a small village by the sea, there lived an old fisherman who had never caught a fish. "
    "Every morning he rowed out before the sun rose, and every evening he came home with an empty net. The other "
    "fishermen laughed at him, but the children loved him, for he told them stories of the deep: of cities of coral, "
    "of whales that sang in words, and of a fish as old as the moon. One day the youngest of the children asked",
]
# A base model knows no conversations; its prompts ask for text, and the last is longer than Gemma's window of 512.
BASE_PROMPTS = [
    "The",
    "The capital of France is",
    "Q: What is the capital of Italy?\nA:",
    "Three primes over 10 are",
    *PROMPTS[4:11],
    PROMPTS[11] + ":\n" + PROMPTS[10] + " 100 degrees. " + PROMPTS[11] + ":\n" + PROMPTS[10] + " 100 degrees. " + PROMPTS[11],
]
TOP = 32


def fixed(vocabulary):
    """Ids whose logits are kept at several positions."""
    return [(i * 7919 + 11) % vocabulary for i in range(64)]


def byte_level_ids(fields):
    pieces = fields["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ", 1)) for m in fields["tokenizer.ggml.merges"]]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    control = [p for p, kind in zip(pieces, fields["tokenizer.ggml.token_type"]) if kind == 3]
    tokenizer.add_special_tokens([tokenizers.AddedToken(p, special=True) for p in control])
    return [tokenizer.encode(p, add_special_tokens=False).ids for p in PROMPTS]


def sentence_piece_ids(fields):
    """The piece of the best score is joined first. Good enough for prompts: pieces that users define are not sought."""
    pieces = {p: i for i, p in enumerate(fields["tokenizer.ggml.tokens"])}
    scores = fields["tokenizer.ggml.scores"]

    def encode(text):
        parts = list(text.replace(" ", "\u2581"))
        while True:
            joined = [pieces.get(a + b) for a, b in zip(parts, parts[1:])]
            known = [i for i, piece in enumerate(joined) if piece is not None]
            if not known:
                break
            best = max(known, key=lambda i: (scores[joined[i]], -i))
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        ids = [fields["tokenizer.ggml.bos_token_id"]]
        for part in parts:
            ids += [pieces[part]] if part in pieces else [pieces[f"<0x{b:02X}>"] for b in part.encode()]
        return ids

    return [encode(p) for p in BASE_PROMPTS]


def prompt_ids(fields):
    return byte_level_ids(fields) if fields["tokenizer.ggml.model"] == "gpt2" else sentence_piece_ids(fields)


def int8(x, _weight_type):
    """x with each 32 values rounded to 255 steps of a scale of their own."""
    blocks = x.reshape(-1, 32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / 127
    return (np.rint(blocks / np.where(scale > 0, scale, 1)) * scale).reshape(x.shape)


def kept_positions(ids):
    return sorted({0, len(ids) // 3, 2 * len(ids) // 3, len(ids) - 1})


def kept_logits(model, prompts):
    """For each prompt the logits at its kept positions, [positions, vocabulary]."""
    return [model.logits(hidden[kept_positions(ids)]) for ids, hidden in zip(prompts, model.hidden(prompts))]


def greatest(row):
    return np.argsort(-row, kind="stable")[:TOP]


def explain(path, prompts):
    exact_model = decoder.Decoder(path)
    ids = fixed(exact_model.vocabulary)
    errors, deviations = [], []
    for a, b in zip(kept_logits(exact_model, prompts), kept_logits(decoder.Decoder(path, int8), prompts)):
        errors += [(b - a)[:, ids].ravel(), (b - a)[-1][greatest(a[-1])]]
        deviations += [np.std(row) for row in a]
    errors = np.concatenate(errors)
    print(f"{len(errors)} logits: rms {np.sqrt(np.mean(errors ** 2)):.4f}, worst {np.abs(errors).max():.4f}; "
          f"a position's logits deviate by {np.mean(deviations):.2f}")


def main(path):
    model = decoder.Decoder(path)
    prompts = prompt_ids(model.fields)
    if "--int8" in sys.argv:
        return explain(path, prompts)
    versions = " ".join(f"{p} {importlib.metadata.version(p)}" for p in ("gguf", "numpy", "tokenizers"))
    with open(path, "rb") as f:
        sha = hashlib.file_digest(f, "sha256").hexdigest()
    print(f"# Made by tests/model/oracle/make_logits.py with {versions}, Python {sys.version.split()[0]}.")
    print("# fixed: the ids whose logits are kept. For each prompt: its ids; `top`, the greatest logits at the last")
    print("# position, id and logit; `at`, for some positions, the top id, its lead, and the logits of the fixed ids.")
    print("sha256", sha)
    ids = fixed(model.vocabulary)
    print("fixed", len(ids), *ids)
    for prompt, logits in zip(prompts, kept_logits(model, prompts)):
        print("prompt", len(prompt), *prompt)
        print("top", TOP, *(f"{i} {logits[-1][i]:.4f}" for i in greatest(logits[-1])))
        for position, row in zip(kept_positions(prompt), logits):
            first, second = np.argsort(-row, kind="stable")[:2]
            print("at", position, first, f"{row[first] - row[second]:.4f}", *(f"{v:.4f}" for v in row[ids]))


if __name__ == "__main__":
    main(sys.argv[1])
