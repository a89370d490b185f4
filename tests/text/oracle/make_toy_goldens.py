#!/usr/bin/env python3
"""Writes toy_goldens.json: how the Hugging Face `tokenizers` library cuts text for each family of
byte-level tokenizers, and what it encodes with small made-up vocabularies of characters.

    pip install -r ../../requirements.txt
    ./make_toy_goldens.py > ../toy_goldens.json
"""

import json
import random
from importlib.metadata import version

from reference import BYTE, CONTROL, NORMAL, PRE_TOKENIZERS, UNKNOWN, USER_DEFINED, File
from texts import CODE, SENTENCES
from tokenizers import normalizers, pre_tokenizers

# One of each kind; the other names stand for the same.
FAMILIES = ["gpt-2", "mpt", "smollm", "falcon", "llama-bpe", "qwen2", "qwen35", "seed-coder", "tekken", "gpt-4o",
            "deepseek-llm", "deepseek-coder", "deepseek-v3", "minicpm5"]
TEXTS = [
    *SENTENCES.values(), *CODE,
    "parseHTMLDocument XMLHttpRequest iPhone McDONALD'S \u01c5\u01c5a \u02b0\u02b0A a\u0301B\u0301C \u0301ABC \u0301abc",
    "it's IT'S it'\u017fx 'LL'd'REx 'Ve'T '\u017f y'all'd've", "12345678 1 22 333 4444 55555 \u00b2\u00b3\u00b9\u00bc \u0663\u0664\u0665\u0666",
    "a  b   c    d\te\t\tf \t g", "x \n\n  y\r\n\r\n z\n \n", "   \n", "  x", " \u3000\u3000a\u3000", "\n\n\n", "\r", " ",
    "!!?? ...// \n/\r/ $+<=>^~|` \u20ac\u00a7\u00b6", "a/b//c /\n //\n\n/ ./\n", "\x01\x02a\x01 \x7f\u0080!\u200b\u200d",
    "\u4e2d\u6587abc\u3042\u30ab\uac00\ud7a3123\u0800\u9fa5\u9fa6", "A\u4e2dB\u3042c \u0915\u093f\u0915 \u0e01\u0e33", "#include<x> @media (a:b) a_b-c",
    "\u2018q\u2019 \u201cQ\u201d \u3001\u3002 \uff01\uff1a\uff5e", "\U0002ebf0\U00031350 \U0001e4d0 \u1c89\ua7cb",
]


def run_lengths(name, text):
    steps, nfc, _ = PRE_TOKENIZERS[name]
    if nfc:
        text = normalizers.NFC().normalize_str(text)
    # Each piece is spelled with a letter per byte.
    return [len(piece) for piece, _ in pre_tokenizers.Sequence(steps()).pre_tokenize_str(text)]


class Toy(File):
    """A File without a file."""

    def __init__(self, model, tokens, prefix, merges=None):
        self.model, self.merges = model, merges
        self.spelled = [t for t, _, _ in tokens]
        self.tokens = [t.replace(" ", "\u2581") if kind == USER_DEFINED else t for t, kind, _ in tokens]
        self.types = [kind for _, kind, _ in tokens]
        self.values = {"scores": [score for _, _, score in tokens], "add_space_prefix": prefix, "merges": merges}

    def get(self, key, default=None):
        return self.values.get(key, default)


def pieces(rng, letters, count):
    """Letters and what random pairs make, best scores first, some of them equal."""
    made = list(letters)
    while len(made) < count:
        piece = rng.choice(made) + rng.choice(made)
        if len(piece) <= 8 and piece not in made:
            made.append(piece)
    return [(p, NORMAL, float(-(i // 2))) for i, p in enumerate(made)]


def toys():
    rng = random.Random(11)
    special = [("<unk>", UNKNOWN, 0.0), ("<s>", CONTROL, 0.0), ("</s>", CONTROL, 0.0)]
    all_bytes = [(f"<0x{b:02X}>", BYTE, 0.0) for b in range(256)]
    letters = list("abc\u2581\u00e9\u4e2d.")
    yield "llama", Toy("llama", [*special, *all_bytes, *pieces(rng, letters, 60), ("<b>", USER_DEFINED, -1000.0)], True)
    yield "without bytes", Toy("llama", [*special, *pieces(rng, letters, 40)], False)
    # Gemma's runs of white space are user-defined, and converters write their scores and marks away.
    runs = [(c * n, USER_DEFINED, -1000.0) for c in "\n\t " for n in range(1 if c != " " else 2, 8)]
    yield "gemma", Toy("llama", [*special, *all_bytes, *pieces(rng, letters, 50), *runs], False)
    words = [p for p in pieces(rng, ["a", "b", "\u2581", "\n"], 40)]
    merges = [(p[:i], p[i:]) for p, _, _ in words for i in range(1, len(p))
              if {p[:i], p[i:]} <= {w for w, _, _ in words}]
    rng.shuffle(merges)
    yield "gemma4", Toy("gemma4", [*special, *all_bytes, *words], False, [" ".join(m) for m in merges])


def texts_for(rng):
    yield from ("", " ", "  ", "a", " a", "a b", "   a   ", "<s>", "a<s>b</s>", "<b>", "x<b> y", "\u2581", "a\u2581b", "\u2581 \u2581")
    yield from ("\n" * 20, "\t\t", " " * 20, "\u4e2d" * 9, "zz", "\U0001f44d\u00e8", "\x00", "a\n\nb")
    for letters, count in (("abc  .", 60), ("ab \n\t", 40), ("abc\u00e9\u4e2d\u2581 z\U0001f44d<s>b", 60)):
        for _ in range(count):
            yield "".join(rng.choice(letters) for _ in range(rng.randint(1, 60)))


def main():
    rng = random.Random(3)
    vocabularies = []
    for name, toy in toys():
        plain, special = toy.tokenizers()
        texts = list(dict.fromkeys(texts_for(rng)))
        vocabularies.append({
            "name": name, "model": toy.model, "tokens": toy.spelled, "types": toy.types, "scores": toy.values["scores"],
            "merges": toy.merges, "add_space_prefix": toy.values["add_space_prefix"],
            "plain": [{"text": t, "ids": plain.encode(t).ids} for t in texts],
            "recognized": [{"text": t, "ids": special.encode(t).ids} for t in texts[:40]],
            "decoded": [{"text": plain.decode(plain.encode(t).ids, skip_special_tokens=False),
                         "ids": plain.encode(t).ids} for t in texts],
        })
    compact = {"separators": (",", ":")}
    head = {"made_by": "tests/text/oracle/make_toy_goldens.py", "versions": {"tokenizers": version("tokenizers")},
            "texts": TEXTS}
    rows = [f"{json.dumps(key)}:{json.dumps(value, **compact)}" for key, value in head.items()]
    families = [f"{json.dumps(name)}:{json.dumps([run_lengths(name, t) for t in TEXTS], **compact)}" for name in FAMILIES]
    rows.append('"families":{\n' + ",\n".join(families) + "\n}")
    rows.append('"vocabularies":[\n' + ",\n".join(json.dumps(v, **compact) for v in vocabularies) + "\n]")
    print("{" + ",\n".join(rows) + "}")


if __name__ == "__main__":
    main()
