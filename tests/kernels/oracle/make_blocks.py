#!/usr/bin/env python3
"""Blocks of every tensor type and the floats that the PyPI package gguf makes of them.

usage: make_blocks.py [--seed N] [--blocks N] > blocks.txt

A golden for tests/kernels/block_test.cc, made with gguf 0.19.0 and numpy 2.4.6 (the file names what made it).
One line per block: type, bytes, the bits of its floats, in hexadecimal; "nan" stands for every NaN, whose bits are
nobody's promise. Bytes are random; the f16 in them walk through what f16 can hold, because random ones are seldom
subnormal or infinite.
"""
import argparse
import importlib.metadata
import platform

import gguf
import numpy as np

# Where a block's f16 are, in bytes.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
# 1, small, large, the greatest, subnormals, zeros, negatives, infinity, NaN.
SPECIAL = [0x3c00, 0x1234, 0x6bcd, 0x7bff, 0x0001, 0x03ff, 0x0000, 0x8000, 0xbc01, 0x8123, 0x0400, 0x7c00, 0xfc00,
           0x7e00]
FLOATS = {"F32": np.uint32, "F16": np.uint16, "BF16": np.uint16}
FLOAT_SPECIAL = {"F32": [0, 1 << 31, 1, 0x7fffff, 0x800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000],
                 "F16": SPECIAL,
                 "BF16": [0, 0x8000, 1, 0x7f, 0x80, 0x7f7f, 0x7f80, 0xff80, 0x7fc0]}


def bits(values):
    return " ".join("nan" if np.isnan(v) else f"{b:08x}" for v, b in zip(values, values.view(np.uint32)))


def blocks_of(name, count, rng):
    if name in FLOATS:
        dtype = FLOATS[name]
        special = np.array(FLOAT_SPECIAL[name], dtype)
        random = rng.integers(0, np.iinfo(dtype).max, count, dtype, endpoint=True)
        return np.concatenate([special, random]).view(np.uint8).reshape(-1, dtype().itemsize)
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    blocks = rng.integers(0, 256, (count, size), np.uint8)
    # The first f16 of the blocks are the special ones in turn, the second ones others; later blocks keep random bits.
    for i in range(min(count, len(SPECIAL))):
        for k, at in enumerate(HALVES[name]):
            half = SPECIAL[(i + 5 * k) % len(SPECIAL)]
            blocks[i, at:at + 2] = [half & 255, half >> 8]
    return blocks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=14, help="random blocks per type; of 256 columns, about half")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    versions = " ".join(f"{m} {importlib.metadata.version(m)}" for m in ("gguf", "numpy"))
    print(f"# Made by tests/kernels/oracle/make_blocks.py --seed {args.seed} --blocks {args.blocks} with {versions}, "
          f"Python {platform.python_version()}.")
    for name in [*FLOATS, *HALVES]:
        qtype = gguf.GGMLQuantizationType[name]
        count = args.blocks if gguf.GGML_QUANT_SIZES[qtype][0] < 256 else (args.blocks + 1) // 2
        with np.errstate(all="ignore"):
            for block in blocks_of(name, count, rng):
                values = np.ascontiguousarray(gguf.quants.dequantize(block.reshape(1, -1), qtype).ravel())
                print(name, block.tobytes().hex(), bits(values))


if __name__ == "__main__":
    main()
