#!/usr/bin/env python3
"""Logits of a llama GGUF file by plain numpy in float64, as a golden for tests/model/golden_test.cc.

usage: make_logits.py MODEL.gguf > smollm2_logits.txt
       make_logits.py MODEL.gguf --int8     how far int8 activations alone move the logits that the golden keeps

An implementation of its own: weights are dequantized exactly by the PyPI package gguf, and nothing is
quantized, cached or rounded on the way. The golden names the versions it was made with; made with
gguf 0.19.0, numpy 2.4.6, tokenizers 0.23.3 (the last only turns the prompts below into ids).
"""
import hashlib
import importlib.metadata
import sys

import gguf
import numpy as np
import tokenizers

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
TOP = 32
FIXED = [(i * 7919 + 11) % 49152 for i in range(64)]  # ids whose logits are kept at several positions


def read(path):
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    tensors = {t.name: t for t in reader.tensors}
    return fields, tensors


def weight(tensors, name):
    t = tensors[name]
    return gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64).reshape(t.shape[::-1])


def make_tokenizer(fields):
    pieces = fields["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ", 1)) for m in fields["tokenizer.ggml.merges"]]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.BPE(vocab={p: i for i, p in enumerate(pieces)}, merges=merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    control = [p for p, kind in zip(pieces, fields["tokenizer.ggml.token_type"]) if kind == 3]
    tokenizer.add_special_tokens([tokenizers.AddedToken(p, special=True) for p in control])
    return tokenizer


def int8(x):
    """x with each 32 values rounded to 255 steps of a scale of their own."""
    blocks = x.reshape(-1, 32)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / 127
    return (np.rint(blocks / np.where(scale > 0, scale, 1)) * scale).reshape(x.shape)


def rms_norm(x, w, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * w


def rotate(x, base):
    """x [tokens, heads, dim]: neighbours (2i, 2i + 1) turn by position * base^(-2i / dim)."""
    tokens, _, dim = x.shape
    angle = np.arange(tokens)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out


def attend(q, k, v):
    """q [tokens, heads, dim]; k, v [tokens, kv heads, dim]; causal."""
    tokens, heads, dim = q.shape
    group = heads // k.shape[1]
    out = np.empty_like(q)
    mask = np.triu(np.full((tokens, tokens), -np.inf), 1)
    for h in range(heads):
        scores = q[:, h] @ k[:, h // group].T / np.sqrt(dim) + mask
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out[:, h] = p / p.sum(axis=-1, keepdims=True) @ v[:, h // group]
    return out


class Layers:
    def __init__(self, fields, tensors, activations=lambda x: x):
        """`activations` is what a product reads of its input."""
        self.activations = activations
        assert fields["general.architecture"] == "llama"
        self.tensors = tensors
        self.layers = fields["llama.block_count"]
        self.heads = fields["llama.attention.head_count"]
        self.kv_heads = fields["llama.attention.head_count_kv"]
        self.eps = fields["llama.attention.layer_norm_rms_epsilon"]
        self.base = fields["llama.rope.freq_base"]

    def run(self, prompts):
        """All prompts, layer by layer, so that one layer's weights are in memory at a time."""
        embedding = weight(self.tensors, "token_embd.weight")
        xs = [embedding[ids] for ids in prompts]
        for i in range(self.layers):
            w = {n: weight(self.tensors, f"blk.{i}.{n}.weight") for n in (
                "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")}
            xs = [self.layer(x, w) for x in xs]
        head = weight(self.tensors, "output.weight") if "output.weight" in self.tensors else embedding
        norm = weight(self.tensors, "output_norm.weight")
        return [self.activations(rms_norm(x, norm, self.eps)) @ head.T for x in xs]

    def layer(self, x, w):
        tokens = len(x)
        h = self.activations(rms_norm(x, w["attn_norm"], self.eps))
        q = rotate((h @ w["attn_q"].T).reshape(tokens, self.heads, -1), self.base)
        k = rotate((h @ w["attn_k"].T).reshape(tokens, self.kv_heads, -1), self.base)
        v = (h @ w["attn_v"].T).reshape(tokens, self.kv_heads, -1)
        x = x + self.activations(attend(q, k, v).reshape(tokens, -1)) @ w["attn_output"].T
        h = self.activations(rms_norm(x, w["ffn_norm"], self.eps))
        gate = h @ w["ffn_gate"].T
        return x + self.activations(gate / (1 + np.exp(-gate)) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T


def kept(ids, logits):
    """(positions whose fixed logits are kept, the last one's greatest ids)"""
    positions = sorted({0, len(ids) // 3, 2 * len(ids) // 3, len(ids) - 1})
    return positions, np.argsort(-logits[-1], kind="stable")[:TOP]


def explain(prompts, fields, tensors):
    exact = Layers(fields, tensors).run(prompts)
    rounded = Layers(fields, tensors, int8).run(prompts)
    errors = []
    for ids, a, b in zip(prompts, exact, rounded):
        positions, order = kept(ids, a)
        errors += [(b - a)[p][FIXED] for p in positions] + [(b - a)[-1][order]]
    errors = np.concatenate(errors)
    deviation = np.mean([np.std(row) for a in exact for row in a])
    print(f"{len(errors)} logits: rms {np.sqrt(np.mean(errors ** 2)):.4f}, worst {np.abs(errors).max():.4f}; "
          f"a position's logits deviate by {deviation:.2f}")


def main(path):
    fields, tensors = read(path)
    tokenizer = make_tokenizer(fields)
    prompts = [tokenizer.encode(p, add_special_tokens=False).ids for p in PROMPTS]
    if "--int8" in sys.argv:
        return explain(prompts, fields, tensors)
    versions = " ".join(f"{p} {importlib.metadata.version(p)}" for p in ("gguf", "numpy", "tokenizers"))
    with open(path, "rb") as f:
        sha = hashlib.file_digest(f, "sha256").hexdigest()
    print(f"# Made by tests/model/oracle/make_logits.py with {versions}, Python {sys.version.split()[0]}.")
    print("# fixed: the ids whose logits are kept. For each prompt: its ids; `top`, the greatest logits at the last")
    print("# position, id and logit; `at`, for some positions, the top id, its lead, and the logits of the fixed ids.")
    print("sha256", sha)
    print("fixed", len(FIXED), *FIXED)
    for ids, logits in zip(prompts, Layers(fields, tensors).run(prompts)):
        print("prompt", len(ids), *ids)
        positions, order = kept(ids, logits)
        print("top", TOP, *(f"{i} {logits[-1][i]:.4f}" for i in order))
        for position in positions:
            row = logits[position]
            first, second = np.argsort(-row, kind="stable")[:2]
            print("at", position, first, f"{row[first] - row[second]:.4f}", *(f"{v:.4f}" for v in row[FIXED]))


if __name__ == "__main__":
    main(sys.argv[1])
