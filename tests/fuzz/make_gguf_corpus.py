#!/usr/bin/env python3
"""Writes the first inputs of gguf_fuzz into tests/fuzz/corpus/gguf_fuzz/ (they are committed)."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).resolve().parent / "corpus" / "gguf_fuzz"
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def value(kind, content):
    return text(content) if kind == STRING else struct.pack(SCALARS[kind], content)


def key(name, kind, content):
    if isinstance(content, list):
        return text(name) + struct.pack("<IIQ", ARRAY, kind, len(content)) + b"".join(value(kind, c) for c in content)
    return text(name) + struct.pack("<I", kind) + value(kind, content)


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def gguf(version, keys, tensors, data_bytes):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + bytes(data_bytes)


LLAMA = gguf(3, [
    key("general.architecture", STRING, "llama"),
    key("general.alignment", 4, 32),
    key("llama.block_count", 4, 1),
    key("llama.context_length", 4, 64),
    key("llama.embedding_length", 4, 32),
    key("llama.feed_forward_length", 4, 32),
    key("llama.attention.head_count", 4, 2),
    key("llama.attention.layer_norm_rms_epsilon", 6, 1e-5),
    key("tokenizer.ggml.tokens", STRING, ["a", "b", "ab", ""]),
    key("tokenizer.ggml.token_type", 5, [1, 1, 1, 3]),
    key("tokenizer.ggml.merges", STRING, ["a b"]),
    key("tokenizer.ggml.add_bos_token", 7, 0),
], [tensor("token_embd.weight", [32, 4], 8, 0), tensor("output_norm.weight", [32], 0, 160)], 160 + 128)
TYPES = gguf(2, [key(f"k{kind}", kind, 1) for kind in SCALARS] + [key(f"a{kind}", kind, [0, 1]) for kind in SCALARS],
             [tensor("q", [256, 1, 2], 12, 0)], 288)


def part(number, keys, name):
    return gguf(3, [*keys, key("split.no", 2, number), key("split.count", 2, 2), key("split.tensors.count", 5, 2)],
                [tensor(name, [8], 0, 0)], 32)


SPLIT = part(0, [key("general.architecture", STRING, "llama")], "a") + part(1, [], "b")

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "llama.gguf").write_bytes(LLAMA)
    (FOLDER / "split.gguf").write_bytes(SPLIT)
    (FOLDER / "types.gguf").write_bytes(TYPES)
