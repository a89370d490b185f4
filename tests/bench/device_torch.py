#!/usr/bin/env python3
"""The shapes of banyan_bench_cuda in PyTorch, on the same device: one line of JSON for each measurement.

usage: device_torch.py SHAPE|roof [SECONDS]        (smollm2-135m, llama3-8b)

Weights in bfloat16 that mean nothing, F.linear and scaled_dot_product_attention over keys and values that lie side by side,
decoding as a CUDA graph: what one writes who has PyTorch and no server. One sequence length for all sequences. The roof is
what a copy and a large product in bfloat16 reach.
"""
import json
import sys
import time

import torch
from torch.nn import functional

SHAPES = {  # layers, embedding, feed-forward, heads, KV heads, head size, vocabulary
    "smollm2-135m": (30, 576, 1536, 9, 3, 64, 49_152),
    "llama3-8b": (32, 4096, 14_336, 32, 8, 128, 128_256),
}


class Model:
    def __init__(self, shape):
        layers, width, hidden, self.heads, self.kv_heads, self.head_dim, vocabulary = SHAPES[shape]
        attention, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim

        def matrix(rows, cols):
            return torch.empty(rows, cols, dtype=torch.bfloat16, device="cuda").uniform_(-0.03, 0.03)

        self.kv_width = kv
        self.embedding = matrix(vocabulary, width)
        self.head = matrix(vocabulary, width)
        self.norm = torch.ones(width, dtype=torch.bfloat16, device="cuda")
        self.layers = [(matrix(attention + 2 * kv, width), matrix(width, attention), matrix(2 * hidden, width),
                        matrix(width, hidden)) for _ in range(layers)]

    def cache(self, sequences, tokens):
        return [torch.zeros(2, sequences, self.kv_heads, tokens, self.head_dim, dtype=torch.bfloat16, device="cuda")
                for _ in self.layers]

    def step(self, tokens, cache, at):
        """tokens [sequences, count], at positions at..: the next token of each sequence."""
        sequences, count = tokens.shape
        x = functional.embedding(tokens, self.embedding)
        for (qkv, output, gates, down), kept in zip(self.layers, cache):
            h = functional.rms_norm(x, self.norm.shape, self.norm)
            q, k, v = functional.linear(h, qkv).split((self.heads * self.head_dim, self.kv_width, self.kv_width), -1)
            q = q.view(sequences, count, self.heads, self.head_dim).transpose(1, 2)
            for i, new in enumerate((k, v)):
                kept[i, :, :, at:at + count] = new.view(sequences, count, self.kv_heads, self.head_dim).transpose(1, 2)
            attended = functional.scaled_dot_product_attention(q, kept[0, :, :, :at + count], kept[1, :, :, :at + count],
                                                               is_causal=count > 1, enable_gqa=True)
            x = x + functional.linear(attended.transpose(1, 2).reshape(sequences, count, -1), output)
            h = functional.rms_norm(x, self.norm.shape, self.norm)
            gate, up = functional.linear(h, gates).chunk(2, -1)
            x = x + functional.linear(functional.silu(gate) * up, down)
        return functional.linear(functional.rms_norm(x[:, -1], self.norm.shape, self.norm), self.head).argmax(-1)


def measured(call, seconds):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(5):
            call()
        torch.cuda.synchronize()
        calls += 5
    return (time.perf_counter() - start) / calls


def say(**measurement):
    print(json.dumps(measurement), flush=True)


def roof(seconds):
    size = 8192
    a, b = (torch.randn(size, size, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    say(what="product", tflop_per_second=2 * size**3 / measured(lambda: torch.matmul(a, b), seconds) / 1e12)
    source = torch.zeros(4 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    moved = 2 * source.numel()  # read, and written
    say(what="copy", gb_per_second=moved / measured(lambda: target.copy_(source), seconds) / 1e9)


def main():
    shape, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    if shape == "roof":
        return roof(seconds)
    model = Model(shape)
    for tokens in (512, 2048, 8192):
        prompt, cache = torch.ones(1, tokens, dtype=torch.long, device="cuda"), model.cache(1, tokens)
        rate = tokens / measured(lambda: model.step(prompt, cache, 0), seconds)
        say(shape=shape, what="prefill", tokens=tokens, per_second=rate)
    for sequences in (1, 8, 64, 256):
        for context in (512, 4096):
            token = torch.ones(sequences, 1, dtype=torch.long, device="cuda")
            cache = model.cache(sequences, context + 1)
            model.step(token, cache, context)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                model.step(token, cache, context)
            step = measured(graph.replay, seconds)
            say(shape=shape, what="decode", sequences=sequences, context=context, per_second=sequences / step,
                step_ms=step * 1e3)
            del graph, cache
    return None


if __name__ == "__main__":
    with torch.inference_mode():
        main()
