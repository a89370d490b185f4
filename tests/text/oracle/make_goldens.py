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
import random
import sys
import unicodedata
from importlib.metadata import version

import jinja2
from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL = 3  # tokenizer.ggml.token_type

# Characters by script, as people write them.
SENTENCES = {
    "english": "The quick brown fox can't jump; it'd rather they're here, we've said, I'm sure she'll.",
    "capitals": "I'M SURE THEY'LL SAY WE'VE WON, DON'T THEY'D",
    "german": "Über größere Maßnahmen hätte Jürgen früher schließen müssen – „wirklich“?",
    "french": "Où êtes‑vous né ? L’été dernier, à Besançon… « cœur »",
    "vietnamese": "Tiếng Việt có nhiều dấu: Nguyễn Thị Thuỳ, đường phố, ướt.",
    "polish": "Zażółć gęślą jaźń, Łódź 1 000 zł",
    "turkish": "İstanbul'da ığdır ŞIK çiğ köfte",
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "ukrainian": "Щастя — це коли є кава, п'ять хвилин і їжак.",
    "greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΣΟΦΟΣ σοφός",
    "hebrew": "שלום עולם, בְּרֵאשִׁית בָּרָא אֱלֹהִים",
    "arabic": "السلام عليكم، كيف حالك؟ ١٢٣٤ مَرْحَبًا",
    "persian": "می‌خواهم ۱۲۳ کتاب بخوانم",
    "hindi": "नमस्ते दुनिया, क्या हाल है? १२३",
    "bengali": "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি",
    "tamil": "வணக்கம் உலகம், எப்படி இருக்கிறீர்கள்?",
    "telugu": "హలో ప్రపంచం",
    "thai": "สวัสดีชาวโลก กำลังทำอะไรอยู่ ๑๒๓",
    "burmese": "မင်္ဂလာပါ ကမ္ဘာလောက",
    "khmer": "សួស្តី​ពិភពលោក",
    "tibetan": "བཀྲ་ཤིས་བདེ་ལེགས།",
    "georgian": "გამარჯობა მსოფლიო, ᲛᲗᲐᲕᲠᲣᲚᲘ",
    "armenian": "Բարեւ աշխարհ, և",
    "amharic": "ሰላም ዓለም ፩፪፫",
    "chinese": "你好,世界!这是一个测试。价格是12345元。𠮷野家",
    "japanese": "こんにちは世界。カタカナとひらがな、漢字と123。ｶﾞｷﾞｸﾞ",
    "korean": "안녕하세요 세계! 한글과 ㅎㅏㄴ 각",
    "mongolian": "ᠮᠣᠩᠭᠣᠯ\u180eᠪᠢᠴᠢᠭ",
    "cherokee": "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ꭰꭱ",
    "mathematics": "∀ε>0 ∃δ: |x−a|<δ ⇒ |f(x)−L|<ε, ∑ₙ₌₁^∞ 1/n² = π²/6, 𝔸𝕓𝖈 𝟙𝟚𝟛",
    "numbers": "½ ⅓ Ⅷ ① ² ³ ௧ ৩ 〇 一 ๙ ꘠ 𒐀 12.5e-7 0xFF 1,000,000 007",
    "emoji": "👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷🇯🇵 ❤️ ☠ 1️⃣ 🧑🏿‍🚀 😀😃😄",
    "combining": "e\u0301 a\u0308\u0323 Z\u0351\u036b\u0343a\u0363\u0308l\u034dg\u0321o\u033c \u0301 \u0301a",
    "joiners": "a\u200db\u200cc\u2060d\ufeffe\u00adf",
    "directions": "\u202eabc\u202c \u2066def\u2069 \u061c\u200f",
    "quotes": "'s 't 're 've 'm 'll 'd 'S 'x ''s 'sA 'ring 'llama \u2019s it''s ' s",
    "private": "\ue000\uf8ff \U000f0000\U0010fffd",
    "noncharacters": "\ufffe\uffff\U0001fffe",
    "replacement": "\ufffd \ufffd\ufffd",
}

CODE = [
    "def f(x: int) -> str:\n    return f\"{x!r:>10}\"  # 100% sure\n\n\nclass A:\n\tpass\n",
    "for (int i = 0; i < n; ++i) {\n  a[i] += b->c[i] * 0x1F;\r\n}\r\n",
    "<div class=\"x\">&nbsp;a &lt; b</div>\n<!-- note -->\n",
    "{\"a\": [1, 2.50, -3e8], \"b\": null,\n  \"c\": {\"d\": \"\\u00e9\"}}",
    "SELECT * FROM t WHERE a>=10 AND b<>'it''s';--x\n",
    "$ ls -la | grep '^d' >> /dev/null 2>&1 && echo \"done\"\t#ok",
    "let f = |x| x.iter().map(|&(a, _)| a??).collect::<Vec<_>>();",
    "\\begin{align}\n  x &= \\frac{1}{2} \\\\\n\\end{align}",
    "https://example.org/a/b?c=d&e=%20f#g user@example.org",
    "      if (a)\n        b();\n\n\n      else\n\tc();   \n   ",
]


def spaces():
    """Runs of white space, of digits and of signs, before and after other things."""
    for blank in [" ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2003", "\u0085", "\u2028", "\u180e", "\x0b", "\x1c"]:
        for n in (1, 2, 3, 8):
            for after in ("", "a", "7", "!", "é"):
                yield blank * n + after
        yield "a" + blank
        yield "a" + blank * 2 + "b" + blank
    yield from ["  5", " 5", "5 ", "5  6", " \n5", "\n 5", "a 5 b", "5a 6b", "  \u00bd", " \u2167x", "\t5", "  's", " 's"]
    yield from [" " * n for n in (16, 17, 31, 32, 33, 63, 64, 65, 100, 257)]
    yield from ["7" * n for n in (2, 3, 7, 33)]
    yield from ["a" * n for n in (31, 32, 33, 34, 64, 65, 100)]
    yield from [c * n for c in "=-_.#*/" for n in (2, 3, 4, 5, 31, 33, 80)]
    yield from ["\n" * n for n in (4, 5, 16, 33)]
    yield from ["\t" * n for n in (4, 5, 16, 33)]
    yield from [" \t" * 20, "\n \n" * 15, "ab" * 40, "é" * 40, "日本" * 20, "👍🏽" * 10, "-=" * 30]


def missing_bytes():
    """SmolLM2 has no token for some bytes; what stands around them meets."""
    for c in "\x04\x06\x13\x14\x16\x1d":
        yield from [f"!{c}!", f"={c}=={c}=", f"a{c}b", f" {c} ", f"{c}\n\n", f".{c}..{c}"]
    yield from ["\U00050000", "a\U00050000b", "\U0009ffff!"]


def random_texts(seed, times):
    """Characters that Unicode 14 assigns: that is what PCRE2 10.42 knows."""
    rng = random.Random(seed)
    assigned = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
    astral = [c for c in assigned if ord(c) > 0xFFFF]
    latin = [chr(c) for c in range(0x250)]
    signs = list(" \t\n'.,!-_=<>|/0123456789aesz")
    for pool, count, longest in ((assigned, 120, 40), (astral, 40, 12), (latin, 120, 60), (signs, 160, 60)):
        for _ in range(count * times):
            yield "".join(rng.choice(pool) for _ in range(rng.randint(1, longest)))
    for _ in range(120 * times):  # words of several scripts, cut and joined
        words = [rng.choice(rng.choice(list(SENTENCES.values())).split()) for _ in range(rng.randint(1, 8))]
        yield rng.choice(["", " ", "  ", "\n"]).join(words)


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
    fields = GGUFReader(args.model).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    types = fields["tokenizer.ggml.token_type"].contents()
    controls = [t for t, kind in zip(tokens, types) if kind == CONTROL]

    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    plain = Tokenizer.from_str(tokenizer.to_str())  # knows no control tokens
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in controls])
    assert tokenizer.get_vocab_size() == len(tokens)

    texts = [""]
    texts += SENTENCES.values()
    texts += CODE
    texts += [chr(c) * n for c in range(0x100) for n in (1, 2)]
    texts += spaces()
    texts += missing_bytes()
    texts += random_texts(args.seed, args.times)
    texts = list(dict.fromkeys(texts))

    special = [c + "a" for c in controls] + [" " + c + " \n" + c for c in controls]
    special += ["".join(controls), "<" + "".join(controls[::-1]) + ">", "<|im_end|", "<|im_end|><|im_<|im_start|>",
                "  <|im_end|>  5", "<<|im_end|>>", "<reponame><repo_name>", "it<|im_end|>'s", "x\n\n<|im_end|>\n\ny"]

    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(
        fields["tokenizer.chat_template"].contents())
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
