#!/usr/bin/env python3
"""How much memory loading takes: starts a server on a model with the shape of a 7B one, whose file has holes
instead of weights, and prints one JSON object with its resident memory and its peak.

usage: load_memory.py --banyan BINARY [--type Q4_1] [--layers 32] [--folder DIR]
"""
import argparse
import json
import pathlib
import re
import struct
import subprocess
import tempfile

# By name: the number in GGUF, elements and bytes of a block.
TYPES = {"F16": (1, 1, 2), "BF16": (30, 1, 2), "Q8_0": (8, 32, 34), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
         "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
         "Q6_K": (14, 256, 210)}
WIDTH, FEED_FORWARD, HEADS, KV_HEADS, VOCABULARY = 4096, 11008, 32, 32, 32000
UINT32, FLOAT32, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5


def text(value):
    return struct.pack("<Q", len(value)) + value


def key(name, kind, value):
    packed = {UINT32: lambda: struct.pack("<I", value), FLOAT32: lambda: struct.pack("<f", value),
              STRING: lambda: text(value.encode())}[kind]()
    return text(name.encode()) + struct.pack("<I", kind) + packed


def array(name, kind, packed):
    return text(name.encode()) + struct.pack("<IIQ", ARRAY, kind, len(packed)) + b"".join(packed)


def spell(byte):
    """A byte as byte-level vocabularies spell it."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return chr(byte) if byte in plain else chr(256 + [b for b in range(256) if b not in plain].index(byte))


def keys(layers):
    tokens = [text(spell(b).encode()) for b in range(256)] + [text(b"ab"), text(b"<|end|>")]
    kinds = [struct.pack("<i", 1)] * 257 + [struct.pack("<i", 3)]
    return [key("general.architecture", STRING, "llama"), key("llama.block_count", UINT32, layers),
            key("llama.context_length", UINT32, 4096), key("llama.embedding_length", UINT32, WIDTH),
            key("llama.feed_forward_length", UINT32, FEED_FORWARD), key("llama.attention.head_count", UINT32, HEADS),
            key("llama.attention.head_count_kv", UINT32, KV_HEADS),
            key("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
            key("tokenizer.ggml.model", STRING, "gpt2"), key("tokenizer.ggml.pre", STRING, "smollm"),
            array("tokenizer.ggml.tokens", STRING, tokens), array("tokenizer.ggml.token_type", INT32, kinds),
            array("tokenizer.ggml.merges", STRING, [text(b"a b")]), key("tokenizer.ggml.eos_token_id", UINT32, 257)]


def shapes(layers):
    """(name, rows, columns); a vector has no rows."""
    yield "token_embd.weight", VOCABULARY, WIDTH
    for i in range(layers):
        for name, rows, cols in (("attn_norm", 0, WIDTH), ("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, WIDTH),
                                 ("attn_v", WIDTH, WIDTH), ("attn_output", WIDTH, WIDTH), ("ffn_norm", 0, WIDTH),
                                 ("ffn_gate", FEED_FORWARD, WIDTH), ("ffn_up", FEED_FORWARD, WIDTH),
                                 ("ffn_down", WIDTH, FEED_FORWARD)):
            yield f"blk.{i}.{name}.weight", rows, cols
    yield "output_norm.weight", 0, WIDTH
    yield "output.weight", VOCABULARY, WIDTH


def write(path, kind, layers):
    """The file; returns the bytes of its weights and of its largest tensor."""
    number, block, block_bytes = TYPES[kind]
    tensors, sizes, offset = [], [], 0
    for name, rows, cols in shapes(layers):
        dims = [cols, rows] if rows else [cols]
        size = rows * cols // block * block_bytes if rows else 4 * cols
        tensors.append(text(name.encode()) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims,
                                                         number if rows else 0, offset))
        sizes.append(size)
        offset += -(-size // 32) * 32
    every = keys(layers)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(every)) + b"".join(every) + b"".join(tensors)
    head += bytes(-len(head) % 32)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + offset)
    return sum(sizes), max(sizes)


def status(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: int(re.search(rf"{name}:\s+(\d+) kB", lines)[1]) * 1024 for name in ("VmRSS", "VmHWM")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--banyan", required=True)
    parser.add_argument("--type", choices=TYPES, default="Q4_1")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--folder", help="where the file goes for the time being (default: the system's)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = pathlib.Path(folder) / "model.gguf"
        weights, largest = write(path, options.type, options.layers)
        command = [options.banyan, "serve", "--model", path, "--port", "0", "--kv-memory", "64MiB"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            ready = any("ready on" in line for line in server.stdout)
            memory = status(server.pid) if ready else {}
            server.terminate()
        if not ready:
            raise SystemExit("the server did not get ready")
    print(json.dumps({"type": options.type, "layers": options.layers, "weight_bytes": weights,
                      "largest_tensor_bytes": largest, "resident_bytes": memory["VmRSS"],
                      "peak_bytes": memory["VmHWM"], "resident_over_weights": memory["VmRSS"] - weights,
                      "peak_over_weights": memory["VmHWM"] - weights}))


if __name__ == "__main__":
    main()
