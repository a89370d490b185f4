#!/usr/bin/env python3
"""Times the radix cache of an installed SGLang at the shapes of radix_bench.cc, and prints JSON.

    PYTHON sglang_radix.py

PYTHON is an interpreter that can import sglang; nothing is fetched or built here. Only
sglang.srt.mem_cache.radix_cache is used, as it is, on the CPU: a cache without memory pools, and an allocator that
does nothing when pages are given back. Names are those of radix_bench.cc, each with the nanoseconds of one
operation; processor time of one thread, garbage collection as Python has it.

  Match          match_prefix, the indices of its slots, inc_lock_ref, dec_lock_ref; the prefix was inserted in steps
                 of 1,024 tokens, or at once (Banyan's edges have a bound, so that it makes no difference there)
  Insert, Split  insert of a key whose last page is new; match_prefix of a prompt that ends within an edge
  Evict          evict of one page
  Conversations  match_prefix, inc_lock_ref, insert, dec_lock_ref
"""
import importlib.metadata
import json
import random
import sys
import time
from array import array

import torch
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey

PAGE = 16
FAMILIES, SHARED = 16, 32 * PAGE


class Allocator:
    device = "cpu"

    def free_segment(self, *args, **kwargs):
        pass


class Tree:
    def __init__(self, page_size=PAGE):
        self.cache = RadixCache.create_simulated(mock_allocator=Allocator(), page_size=page_size)
        self.slots = torch.arange(1 << 20, dtype=torch.int64)

    def insert(self, tokens):
        self.cache.insert(InsertParams(key=RadixKey(token_ids=tokens), value=self.slots[:len(tokens)]))

    def match(self, tokens):
        return self.cache.match_prefix(MatchPrefixParams(key=RadixKey(token_ids=tokens)))


def text(rng, tokens):
    return array("q", rng.choices(range(50_000), k=tokens))


def timed(run, items):
    """Nanoseconds of one run(item)."""
    start = time.thread_time_ns()
    for item in items:
        run(item)
    return (time.thread_time_ns() - start) / len(items)


def match(tokens, page_size, turn):
    rng = random.Random(1)
    tree, prompt = Tree(page_size), text(rng, tokens)
    for end in range(turn, tokens + turn, turn):
        tree.insert(prompt[:end])

    def run(_):
        node = tree.match(prompt).last_device_node
        indices = tree.cache.path_device_indices(node)
        assert len(indices) == tokens - tokens % page_size
        tree.cache.inc_lock_ref(node)
        tree.cache.dec_lock_ref(node)

    return min(timed(run, range(20)) for _ in range(5))


def wide(pages):
    """A root whose children are a page each."""
    rng = random.Random(2)
    tree = Tree()
    for _ in range(pages):
        tree.insert(text(rng, PAGE))
    return rng, tree


def insert(pages):
    rng, tree = wide(pages)
    return timed(tree.insert, [text(rng, PAGE) for _ in range(1000)])


def split(pages):
    rng, tree = wide(pages)
    edges = [text(rng, 16 * PAGE) for _ in range(1000)]
    for edge in edges:
        tree.insert(edge)
    return timed(tree.match, [edge[:8 * PAGE] for edge in edges])


def evict(pages):
    _, tree = wide(pages)

    def run(_):
        assert tree.cache.evict(EvictParams(num_tokens=PAGE)).num_tokens_evicted == PAGE

    return timed(run, range(20))


def conversations(count, turns):
    rng = random.Random(3)
    tree = Tree()
    families = [text(rng, SHARED) for _ in range(FAMILIES)]
    for family in families:
        tree.insert(family + text(rng, PAGE))
    texts = [families[i % FAMILIES] + text(rng, turns * 128) for i in range(count)]
    order = [i for i in range(count) for _ in range(turns)]
    rng.shuffle(order)
    lengths = [SHARED] * count

    def run(i):
        lengths[i] += 128
        prompt = texts[i][:lengths[i]]
        node = tree.match(prompt).last_device_node
        tree.cache.inc_lock_ref(node)
        tree.insert(prompt)
        tree.cache.dec_lock_ref(node)

    return timed(run, order)


def main():
    torch.set_num_threads(1)
    works = {
        "Match/1024/16/1": lambda: match(1024, 16, 1024),
        "Match/16384/16/1": lambda: match(16384, 16, 1024),
        "Match/100000/16/1": lambda: match(100_000, 16, 1024),
        "Match/100000/16/1 inserted at once": lambda: match(100_000, 16, 100_000),
        "Match/100000/1/1": lambda: match(100_000, 1, 1024),
        "Match/100000/1/1 inserted at once": lambda: match(100_000, 1, 100_000),
        "Insert/wide/100000": lambda: insert(100_000),
        "Split/wide/100000": lambda: split(100_000),
        "Evict/wide/1000": lambda: evict(1000),
        "Evict/wide/10000": lambda: evict(10_000),
        "Evict/wide/100000": lambda: evict(100_000),
        "Conversations/256/32": lambda: conversations(256, 32),
    }
    out = {}
    for name, work in works.items():
        out[name] = round(work(), 1)
        print(f"  sglang: {name} {out[name]:.0f} ns", file=sys.stderr, flush=True)
    print(json.dumps({"versions": {name: importlib.metadata.version(name) for name in ("sglang", "torch")},
                      "python": sys.version.split()[0], "ns": out}, indent=1))


if __name__ == "__main__":
    main()
