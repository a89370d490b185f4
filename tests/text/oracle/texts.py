"""Hard texts for tokenizers: scripts, code, runs of white space, missing bytes, random characters."""

import random
import unicodedata

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
    rng = random.Random(seed)
    assigned = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
    anything = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    astral = [c for c in assigned if ord(c) > 0xFFFF]
    marks = [c for c in assigned if unicodedata.category(c).startswith("M")]
    composed = [c for c in assigned if unicodedata.decomposition(c)[:1] not in ("", "<")]
    latin = [chr(c) for c in range(0x250)]
    signs = list(" \t\n\r'.,!-_=<>|/0123456789aesztSTDMLRV\u017f\u3000\u2581")
    for pool, count, longest in ((assigned, 120, 40), (anything, 40, 12), (astral, 40, 12), (latin, 120, 60),
                                 (signs, 240, 60)):
        for _ in range(count * times):
            yield "".join(rng.choice(pool) for _ in range(rng.randint(1, longest)))
    for _ in range(120 * times):  # marks in any order, composed and not
        text = "".join(rng.choice((rng.choice(marks), rng.choice(composed), rng.choice("aeio A\u1100\u1161\u11a8\uac00")))
                       for _ in range(rng.randint(2, 12)))
        yield unicodedata.normalize("NFD", text) if rng.random() < 0.5 else text
    for _ in range(120 * times):  # words of several scripts, cut and joined
        words = [rng.choice(rng.choice(list(SENTENCES.values())).split()) for _ in range(rng.randint(1, 8))]
        yield rng.choice(["", " ", "  ", "\n"]).join(words)


def hard_texts(seed, times):
    texts = ["", *SENTENCES.values(), *CODE]
    texts += [chr(c) * n for c in range(0x100) for n in (1, 2)]
    texts += spaces()
    texts += missing_bytes()
    texts += random_texts(seed, times)
    return list(dict.fromkeys(texts))
