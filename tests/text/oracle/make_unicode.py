#!/usr/bin/env python3
"""Writes text/unicode_classes.inc and text/nfc.inc: what the Hugging Face `tokenizers` library takes
for a letter, a number, ... and what its NFC makes of each character.

    pip install -r ../../requirements.txt
    ./make_unicode.py ../../../text

Both are asked of the library itself, not of a Unicode release: its regular expressions, its Rust
code and its normalizer know three different ones.
"""

import pathlib
import sys
import unicodedata
from importlib.metadata import version

from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(map(chr, POINTS))
HEAD = f"// Made by tests/text/oracle/make_unicode.py with tokenizers {version('tokenizers')}.\n"

# Name in text/unicode.h, and the pre-tokenizer that keeps the characters of the class together.
CLASSES = {
    "kLetter": r"\p{L}+",
    "kUpper": r"[\p{Lu}\p{Lt}]+",
    "kLower": r"\p{Ll}+",
    "kNumber": r"\p{N}+",
    "kMark": r"\p{M}+",
    "kPunctuation": r"\p{P}+",
    "kSymbol": r"\p{S}+",
    "kSpace": r"\s+",
    "kDigits": pre_tokenizers.Digits(individual_digits=False),
    "kSplitPunctuation": pre_tokenizers.Punctuation("contiguous"),
}


def members(how):
    if isinstance(how, str):
        how = pre_tokenizers.Split(Regex(how), "removed", invert=True)
        return {ord(c) for run, _ in how.pre_tokenize_str(TEXT) for c in run}
    # These cut where the class begins and ends: every other run is of it.
    known = {pre_tokenizers.Digits: "0", pre_tokenizers.Punctuation: "!"}[type(how)]
    return {c for c in POINTS if len(how.pre_tokenize_str("a" + chr(c))) == 2
            and len(how.pre_tokenize_str(known + chr(c))) == 1}


def flat(name, kind, numbers):
    lines, line = [], ""
    for number in numbers:
        item = f"0x{number:X},"
        if len(line) + len(item) > 99:
            lines.append(line)
            line = ""
        line += item
    return HEAD + f"constexpr {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n"


def classes():
    flags = dict.fromkeys(POINTS, 0)
    for bit, how in enumerate(CLASSES.values()):
        for c in members(how):
            flags[c] |= 1 << bit
    numbers, last = [], None
    for c in POINTS:
        if flags[c] != last:
            last = flags[c]
            numbers.append(c << 10 | last)  # 21 and 10 bits
    return flat("kClassRuns", "std::uint32_t", numbers)


def one_by_one(normalizer, texts):
    joined = normalizer.normalize_str("\n".join(texts)).split("\n")
    assert len(joined) == len(texts)
    return joined


def nfc():
    to_nfd, to_nfc = normalizers.NFD(), normalizers.NFC()
    points = [c for c in POINTS if c != 10 and not 0xAC00 <= c < 0xD7A4]  # Hangul is arithmetic
    decomposed = dict(zip(points, one_by_one(to_nfd, [chr(c) for c in points])))
    decomposed = {c: d for c, d in decomposed.items() if d != chr(c)}
    # A combining class above 1 moves behind U+0334, of class 1; class 1 before U+0316, of class 220.
    above = one_by_one(to_nfd, ["a" + chr(c) + "\u0334" for c in points])
    one = one_by_one(to_nfd, ["a\u0316" + chr(c) for c in points])
    combining = {}
    for c, a, o in zip(points, above, one):
        if c in decomposed:
            continue
        if a == "a\u0334" + chr(c) and c != 0x334 or o == "a" + chr(c) + "\u0316" and c != 0x316:
            combining[c] = unicodedata.combining(chr(c))
            assert combining[c], hex(c)
    # Pairs that compose: all but the last of a decomposition, composed, and the last.
    pairs = []
    for c, d in decomposed.items():
        first = to_nfc.normalize_str(d[:-1])
        if len(first) == 1 and to_nfc.normalize_str(d) == chr(c):
            pairs += [ord(first), ord(d[-1]), c]
    for c in points:  # composed by the library, though it does not decompose them
        d = unicodedata.decomposition(chr(c)).split()
        if c in decomposed or len(d) != 2 or d[0].startswith("<"):
            continue
        if to_nfc.normalize_str("".join(chr(int(x, 16)) for x in d)) == chr(c):
            pairs += [int(d[0], 16), int(d[1], 16), c]
    for c in (0x300, 0x323, 0x334, 0x3099, 0x5B0, 0x345):
        assert combining[c] == unicodedata.combining(chr(c))
    return (flat("kDecompositions", "std::uint32_t",
                 [n for c, d in decomposed.items() for n in (c, len(d), *map(ord, d))])
            + flat("kCombining", "std::uint32_t", [c << 8 | v for c, v in combining.items()])
            + flat("kCompositions", "std::uint32_t", pairs))


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit("run with Python 3.11: combining classes are compared with its Unicode 14.0.0")
    out = pathlib.Path(sys.argv[1])
    (out / "unicode_classes.inc").write_text(classes())
    (out / "nfc.inc").write_text(nfc())


if __name__ == "__main__":
    main()
