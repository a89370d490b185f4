#!/usr/bin/env python3
"""Writes one NAME.json per GGUF file: what the Hugging Face `tokenizers` library makes of hard texts with
that file's vocabulary, and what llama.cpp expects, where a NAME.gguf.inp and .out lie beside it.

    make_family_goldens.py --seed 1 --times 3 FOLDER FILE.gguf...

For `./dev full`: the text_families program compares them with Banyan. The files themselves belong to
others and are only read.
"""

import argparse
import json
import pathlib
import random
import sys

from reference import CONTROL, UNKNOWN, USER_DEFINED, File
from texts import CODE, SENTENCES, hard_texts

SEPARATOR = "\n__ggml_vocab_test__\n"


def llama_cpp(path):
    inputs, outputs = (pathlib.Path(f"{path}.{kind}") for kind in ("inp", "out"))
    if not inputs.exists():
        return []
    texts = inputs.read_bytes().decode().split(SEPARATOR)
    lines = outputs.read_text().split("\n")
    return [{"text": t, "ids": list(map(int, line.split()))} for t, line in zip(texts, lines)]


def with_tokens(rng, tokens):
    """Texts with spelled-out tokens in them, and with what is nearly one."""
    sentences = [*SENTENCES.values(), *CODE]
    tokens = rng.sample(tokens, min(len(tokens), 60))
    for token in tokens:
        yield from (token, token * 2, f" {token} a", f"a{token}\n\nb", token[:-1], token[1:])
        yield rng.choice(sentences) + token + rng.choice(sentences)


def encode(tokenizer, texts):
    return [{"text": t, "ids": tokenizer.encode(t, add_special_tokens=False).ids} for t in dict.fromkeys(texts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for path in args.files:
        file = File(path)
        goldens = {"file": str(path), "supported": file.supported(), "llama_cpp": []}
        if file.supported():
            rng = random.Random(args.seed)
            plain, special = file.tokenizers()
            texts = hard_texts(args.seed, args.times)
            decoded = [t for t in texts if len(t) < 80][::5]
            goldens |= {
                "plain": encode(plain, texts),
                "llama_cpp": [entry | {"reference": plain.encode(entry["text"]).ids} for entry in llama_cpp(path)],
                "user_defined": encode(plain, with_tokens(rng, file.of_type(USER_DEFINED))),
                "recognized": encode(special, with_tokens(rng, file.of_type(CONTROL, UNKNOWN, USER_DEFINED))),
                "decoded": [{"text": plain.decode(plain.encode(t).ids, skip_special_tokens=False),
                             "ids": plain.encode(t).ids} for t in decoded],
            }
        (args.folder / (path.stem + ".json")).write_text(json.dumps(goldens))
        print(path.stem, file=sys.stderr)


if __name__ == "__main__":
    main()
