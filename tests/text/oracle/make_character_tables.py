#!/usr/bin/env python3
"""Writes text/jinja/character_tables.cc: what Python's str methods know of characters.

    ./make_character_tables.py > ../../../text/jinja/character_tables.cc
"""

import sys
import unicodedata

CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(predicate):
    """The characters from 128 on of which `predicate` is true, as first and last of each run."""
    runs = []
    for c in CHARACTERS[128:]:
        if not predicate(c):
            continue
        if runs and runs[-1][1] == ord(c) - 1:
            runs[-1][1] = ord(c)
        else:
            runs.append([ord(c), ord(c)])
    return runs


def mappings(method):
    """Runs of characters that change by the same number: first, last, stride, change; and the others."""
    runs, others = [], []
    for c in CHARACTERS[128:]:
        mapped = method(c)
        if mapped == c:
            continue
        if len(mapped) > 1:
            others.append((ord(c), mapped))
            continue
        change = ord(mapped) - ord(c)
        if runs and runs[-1][3] == change:
            gap = ord(c) - runs[-1][1]
            if gap == runs[-1][2] or (runs[-1][1] == runs[-1][0] and gap <= 2):
                runs[-1][1:3] = [ord(c), gap]
                continue
        runs.append([ord(c), ord(c), 1, change])
    return runs, others


def table(kind, name, rows):
    print(f"const {kind} {name}[] = {{")
    line = " "
    for row in rows:
        item = " {" + ",".join(str(n) for n in row) + "},"
        if len(line) + len(item) > 100:
            print(line)
            line = " "
        line += item
    print(line)
    print(f"}};\nconst std::size_t {name}Size = {len(rows)};\n")


def main():
    python = ".".join(map(str, sys.version_info[:2]))
    print(f"""// Written by tests/text/oracle/make_character_tables.py with Python {python}, \
Unicode {unicodedata.unidata_version}.
#include "text/jinja/character_tables.h"

namespace banyan::text::jinja {{

// clang-format off
""")
    for name, predicate in [("kPrintable", str.isprintable), ("kAlphabetic", str.isalpha),
                            ("kDecimal", str.isdecimal), ("kDigit", str.isdigit), ("kNumeric", str.isnumeric)]:
        table("CharacterRange", name, ranges(predicate))
    for name, method in [("kUpper", str.upper), ("kLower", str.lower), ("kTitle", str.title)]:
        runs, others = mappings(method)
        table("CaseRange", name, runs)
        table("CaseSpelling", name + "Spelling",
              [(c, '"' + "".join(f"\\x{b:02x}" for b in text.encode()) + '"') for c, text in others])
    print("""// clang-format on

}  // namespace banyan::text::jinja""")


if __name__ == "__main__":
    main()
