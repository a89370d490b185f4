#!/usr/bin/env python3
"""Writes a model with the shape of Llama 3 8B, few layers and random weights, to measure speed with.

usage: make_stack.py --tokenizer MODEL.gguf [--type Q4_0|Q4_K] [--layers 6] [--seed 1] OUT.gguf

The vocabulary (tokens, merges, template) is that of MODEL, and so is its size; embedding and head are one
matrix. Weights are made of random codes under scales that keep activations near 1: it runs, and says nothing
that means anything. The same arguments give the same file.
"""
import argparse
import pathlib

import gguf
import numpy as np

WIDTH, FEED_FORWARD, HEADS, KV_HEADS, CONTEXT = 4096, 14336, 32, 8, 8192
DEVIATION = 0.02  # of a weight
KEY_VALUE = WIDTH // HEADS * KV_HEADS


def q4_0(rng, blocks):
    """A weight is d * (code - 8)."""
    out = rng.integers(0, 256, (blocks, 18), np.uint8)
    out[:, :2] = (DEVIATION / 4.6 * rng.uniform(0.5, 1.5, blocks)).astype(np.float16).view(np.uint8).reshape(-1, 2)
    return out


def q4_k(rng, blocks):
    """A weight is d * scale * code - m * min, with scales and mins of 6 bits packed into 12 bytes."""
    out = rng.integers(0, 256, (blocks, 144), np.uint8)
    d = (DEVIATION / 300 * rng.uniform(1, 1.5, blocks)).astype(np.float16)
    out[:, :2] = d.view(np.uint8).reshape(-1, 2)
    out[:, 2:4] = (d * np.float16(7.5)).view(np.uint8).reshape(-1, 2)  # the mean of a code
    return out


# By name: elements of a block, and what makes blocks.
TYPES = {"Q4_0": (32, q4_0), "Q4_K": (256, q4_k)}


def copy_tokenizer(model, writer):
    for name, field in gguf.GGUFReader(model).fields.items():
        if name.startswith("tokenizer."):
            kind = field.types[0]
            writer.add_key_value(name, field.contents(), kind, field.types[-1] if len(field.types) > 1 else None)


def vocabulary_of(model):
    embedding = next(t for t in gguf.GGUFReader(model).tensors if t.name == "token_embd.weight")
    return int(embedding.shape[1])


def matrices(layers, vocabulary):
    """(name, rows, columns)"""
    yield "token_embd.weight", vocabulary, WIDTH
    for i in range(layers):
        for name, rows, cols in (("attn_q", WIDTH, WIDTH), ("attn_k", KEY_VALUE, WIDTH), ("attn_v", KEY_VALUE, WIDTH),
                                 ("attn_output", WIDTH, WIDTH), ("ffn_gate", FEED_FORWARD, WIDTH),
                                 ("ffn_up", FEED_FORWARD, WIDTH), ("ffn_down", WIDTH, FEED_FORWARD)):
            yield f"blk.{i}.{name}.weight", rows, cols


def write(path, tokenizer, kind, layers, seed):
    block, make = TYPES[kind]
    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"Llama-3-8B-shaped stack of {layers} layers, {kind}, random weights")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    vocabulary = vocabulary_of(tokenizer)
    writer.add_vocab_size(vocabulary)
    copy_tokenizer(tokenizer, writer)
    for name, rows, cols in matrices(layers, vocabulary):
        data = make(rng, rows * cols // block).reshape(rows, -1)
        writer.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType[kind])
    for name in ["output_norm", *(f"blk.{i}.{norm}" for i in range(layers) for norm in ("attn_norm", "ffn_norm"))]:
        writer.add_tensor(name + ".weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--type", choices=TYPES, default="Q4_0")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("out", type=pathlib.Path)
    options = parser.parse_args()
    # Under its name only once it is whole.
    part = options.out.with_suffix(".part")
    write(part, options.tokenizer, options.type, options.layers, options.seed)
    part.rename(options.out)


if __name__ == "__main__":
    main()
