"""Strings that show where they end up: what came with a request is moved to private-use characters, while
comparisons and look-ups go on as before. What a template writes of them is then known byte by byte."""


def move(text):
    """White space stays, since templates cut at it; so do characters that have no place to go."""
    return "".join(c if c.isspace() else chr(0xF0000 + ord(c)) if ord(c) < 0xFFFE
                   else chr(0x100000 + (ord(c) & 0xFFFF)) if ord(c) >> 16 == 1 else c for c in text)


def back(text):
    def one(c):
        plane, low = ord(c) >> 16, ord(c) & 0xFFFF
        return chr(low) if plane == 15 else chr(0x10000 + low) if plane == 16 else c
    return "".join(map(one, text))


def is_moved(c):
    return ord(c) >= 0xF0000


class Marked(str):
    """Looks moved, is equal to and hashes as what it was."""

    def __new__(cls, text):
        self = super().__new__(cls, move(text))
        self.plain = text
        return self

    def __eq__(self, other):
        return self.plain == (other.plain if isinstance(other, Marked) else other)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.plain)


def mark(value):
    if isinstance(value, str):
        return Marked(value)
    if isinstance(value, list):
        return [mark(item) for item in value]
    if isinstance(value, dict):
        return {mark(key): mark(item) for key, item in value.items()}
    return value


def origins(marked, plain):
    """The lengths in bytes of runs that are the template's, the message's, the template's, ...; None where
    the template looked into the text, so that moving it changed what it did."""
    if back(marked) != plain:
        return None
    runs, message = [0], False
    for c in marked:
        if is_moved(c) != message:
            runs.append(0)
            message = not message
        runs[-1] += len(back(c).encode())
    return runs
