#!/usr/bin/env python3
"""Writes tokenizer_goldens.json: what the Hugging Face `tokenizers` library and Python's jinja2 make of
hard texts and conversations, with the vocabulary, merges and template of a GGUF file.

    pip install -r ../../requirements.txt
    ./make_goldens.py SmolLM2-135M-Instruct.Q4_1.gguf > ../tokenizer_goldens.json

--seed and --times make others, larger ones, for `./dev full`.
"""

import argparse
import hashlib
import json
import sys
import unicodedata
from importlib.metadata import version

import jinja2
from reference import CONTROL, File
from texts import CODE, SENTENCES, hard_texts


def conversations(controls):
    question = {"role": "user", "content": "What is the capital of France?"}
    yield [question]
    yield [{"role": "system", "content": "Be brief."}, question]
    yield [question, {"role": "assistant", "content": "Paris."}, {"role": "user", "content": "And of  Italy?\n"}]
    yield [question, {"role": "system", "content": "late"}]
    yield []
    yield [{"role": "user", "content": ""}]
    yield [{"role": "", "content": "no role"}]
    yield [{"role": "user", "content": "\n\n  leading"}, {"role": "assistant", "content": "trailing  \n\n"}]
    yield [{"role": "tool", "content": '{"a": 1}'}, {"role": "ünï", "content": "日本語 👍🏽"}]
    yield [{"role": "user", "content": s} for s in SENTENCES.values()]
    yield [{"role": "user", "content": s} for s in CODE]
    # Almost control tokens: nothing here spells one.
    yield [{"role": "user", "content": c[:-1] + " " + c[1:] + c[0]} for c in controls]


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"run with Python 3.11, whose Unicode is 14.0.0, not {unicodedata.unidata_version}")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--seed", type=int, default=20240229, help="of the random texts")
    parser.add_argument("--times", type=int, default=1, help="so many times as many random texts")
    args = parser.parse_args()
    with open(args.model, "rb") as f:
        sha256 = hashlib.file_digest(f, "sha256").hexdigest()
    file = File(args.model)
    controls = file.of_type(CONTROL)
    plain, tokenizer = file.tokenizers()
    texts = hard_texts(args.seed, args.times)

    special = [c + "a" for c in controls] + [" " + c + " \n" + c for c in controls]
    special += ["".join(controls), "<" + "".join(controls[::-1]) + ">", "<|im_end|", "<|im_end|><|im_<|im_start|>",
                "  <|im_end|>  5", "<<|im_end|>>", "<reponame><repo_name>", "it<|im_end|>'s", "x\n\n<|im_end|>\n\ny"]

    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(
        file.fields["tokenizer.chat_template"].contents())
    chats = []
    for messages in conversations(controls):
        text = template.render(messages=messages, add_generation_prompt=True)
        chats.append({"messages": messages, "text": text, "ids": tokenizer.encode(text).ids})

    head = {
        "made_by": "tests/text/oracle/make_goldens.py",
        "versions": {name: version(name) for name in ("gguf", "jinja2", "tokenizers")}
        | {"unicode": unicodedata.unidata_version},
        "model_sha256": sha256,
    }
    lists = {
        "plain": [{"text": t, "ids": plain.encode(t).ids} for t in texts],
        "recognized": [{"text": t, "ids": tokenizer.encode(t).ids} for t in special],
        "chats": chats,
    }
    # One entry a line, so that a change shows as what it is.
    compact = {"separators": (",", ":")}
    rows = [f"{json.dumps(key)}:{json.dumps(value, **compact)}" for key, value in head.items()]
    rows += [f"{json.dumps(key)}:[\n" + ",\n".join(json.dumps(e, **compact) for e in entries) + "\n]"
             for key, entries in lists.items()]
    print("{" + ",\n".join(rows) + "}")


if __name__ == "__main__":
    main()
