"""The Hugging Face `tokenizers` that a GGUF file's metadata stands for, built from the file alone.

What each family's tokenizer.json says about cutting and normalizing, the file only names: it is
written down here as published, regular expressions included, and text/pre_tokenizer.cc has it in
C++. tests/text/split_steps_test.cc has the expressions too, for PCRE2.
"""

from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # tokenizer.ggml.token_type

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def words(digits, letters=r"\p{L}", signs=r"[^\s\p{L}\p{N}]", tail=r"[\r\n]*"):
    return rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{digits}| ?{signs}+{tail}|{SPACES}"


def cased_words(digits, suffix=""):
    return (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{suffix}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{suffix}"
            rf"|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}")


CL100K = words(r"\p{N}{1,3}")
QWEN2 = words(r"\p{N}")
QWEN35 = words(r"\p{N}", r"[\p{L}\p{M}]", r"[^\s\p{L}\p{M}\p{N}]")
SEED_CODER = words(r"\p{N}{1}", signs=r"[^\s\p{L}\p{N}\r\n]", tail="")
TEKKEN = cased_words(r"\p{N}")
O200K = cased_words(r"\p{N}{1,3}", CONTRACTIONS + "?")
DEEPSEEK_V3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
               r"| ?[\p{P}\p{S}]+[\r\n]*|" + SPACES)
# DeepSeek LLM's letters, by number: written out, an editor might normalize them.
CASED = [
    0x41, 0x5A, 0x61, 0x7A, 0xB5, 0xB5, 0xC0, 0xD6, 0xD8, 0xF6, 0xF8, 0x1BA, 0x1BC, 0x1BF, 0x1C4, 0x293,
    0x295, 0x2AF, 0x370, 0x373, 0x376, 0x377, 0x37B, 0x37D, 0x37F, 0x37F, 0x386, 0x386, 0x388, 0x38A, 0x38C,
    0x38C, 0x38E, 0x3A1, 0x3A3, 0x3F5, 0x3F7, 0x481, 0x48A, 0x52F, 0x531, 0x556, 0x10A0, 0x10C5, 0x13A0,
    0x13F5, 0x13F8, 0x13FD, 0x1C90, 0x1CBA, 0x1CBD, 0x1CBF, 0x1D00, 0x1D2B, 0x1D6B, 0x1D77, 0x1D79, 0x1D9A,
    0x1E00, 0x1F15, 0x1F18, 0x1F1D, 0x1F20, 0x1F45, 0x1F48, 0x1F4D, 0x1F50, 0x1F57, 0x1F59, 0x1F59, 0x1F5B,
    0x1F5B, 0x1F5D, 0x1F5D, 0x1F5F, 0x1F7D, 0x1F80, 0x1FB4, 0x1FB6, 0x1FBC, 0x1FBE, 0x1FBE, 0x1FC2, 0x1FC4,
    0x1FC6, 0x1FCC, 0x1FD0, 0x1FD3, 0x1FD6, 0x1FDB, 0x1FE0, 0x1FEC, 0x1FF2, 0x1FF4, 0x1FF6, 0x1FFC, 0x2102,
    0x2102, 0x2107, 0x2107, 0x210A, 0x2113, 0x2115, 0x2115, 0x2119, 0x211D, 0x2124, 0x2124, 0x2126, 0x2126,
    0x2128, 0x2128, 0x212A, 0x212D, 0x212F, 0x2134, 0x2139, 0x2139, 0x213C, 0x213F, 0x2145, 0x2149, 0x214E,
    0x214E, 0x2183, 0x2184, 0x2C00, 0x2C7B, 0x2C7E, 0x2CE4, 0x2CEB, 0x2CEE, 0x2CF2, 0x2CF3, 0xA640, 0xA66D,
    0xA680, 0xA69B, 0xA722, 0xA76F, 0xA771, 0xA787, 0xA78B, 0xA78E, 0xAB70, 0xABBF, 0xFB00, 0xFB06, 0xFB13,
    0xFB17, 0xFF21, 0xFF3A, 0xFF41, 0xFF5A, 0x10400, 0x1044F, 0x104B0, 0x104D3, 0x104D8, 0x104FB, 0x10C80,
    0x10CB2, 0x10CC0, 0x10CF2, 0x118A0, 0x118DF, 0x1E900, 0x1E943,
]
DEEPSEEK_LLM = r"\s?[" + "".join(
    f"{chr(a)}-{chr(b)}" for a, b in zip(CASED[::2], CASED[1::2])) + "]+"
WIDE_SIGNS = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"
IDEOGRAPHS = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"


def split(expression):
    return pre_tokenizers.Split(Regex(expression), "isolated")


def digits():
    return pre_tokenizers.Digits(individual_digits=True)


def gpt2_words():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def only_bytes():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def falcon():
    return [pre_tokenizers.Punctuation("contiguous"), gpt2_words(),
            pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]")]


def deepseek_llm():
    return [split("[\r\n]"), split(DEEPSEEK_LLM), split(WIDE_SIGNS), split(r"\s+$"), split(IDEOGRAPHS),
            digits(), only_bytes()]


def deepseek_coder():
    return [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split(IDEOGRAPHS), digits(), only_bytes()]


def deepseek_v3():
    return [split(r"\p{N}{1,3}"), split(KANA), split(DEEPSEEK_V3), only_bytes()]


def by(expression):
    return lambda: [split(expression), only_bytes()]


# Name: steps, whether the normalizer is NFC, whether merges are ignored for runs that are tokens.
PRE_TOKENIZERS = {
    **{name: (lambda: [gpt2_words()], False, False) for name in ("gpt-2", "phi-2")},
    **{name: (lambda: [gpt2_words()], True, False) for name in ("mpt", "olmo")},
    **{name: (lambda: [digits(), gpt2_words()], False, False) for name in ("smollm", "starcoder", "refact")},
    "command-r": (lambda: [digits(), gpt2_words()], True, False),
    "falcon": (falcon, False, False),
    **{name: (by(CL100K), False, True) for name in ("llama-bpe", "llama3", "llama-v3", "lfm2", "glm4")},
    "minicpm5": (lambda: [split(r"\p{N}{1,3}"), split(words(r"\p{N}+")), only_bytes()], False, True),
    **{name: (by(CL100K), False, False) for name in ("smaug-bpe", "dbrx", "chatglm-bpe")},
    **{name: (by(QWEN2), True, False) for name in ("qwen2", "deepseek-r1-qwen")},
    "qwen35": (by(QWEN35), True, False),
    "seed-coder": (by(SEED_CODER), False, False),
    "tekken": (by(TEKKEN), False, True),
    **{name: (by(O200K), False, False) for name in ("gpt-4o", "llama4")},
    "deepseek-llm": (deepseek_llm, False, False),
    "deepseek-coder": (deepseek_coder, False, False),
    "deepseek-v3": (deepseek_v3, False, False),
}


def merges_of_scores(scores):
    """As the reference's converter makes them of a SentencePiece model's scores."""
    merges = []
    ids = {piece: i for i, piece in enumerate(scores)}
    for piece, score in scores.items():
        local = [(piece[:i], piece[i:], score) for i in range(1, len(piece))
                 if piece[:i] in ids and piece[i:] in ids]
        merges += sorted(local, key=lambda m: (ids[m[0]], ids[m[1]]))
    merges.sort(key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)
    return [m[:2] for m in merges]


class File:
    """The tokenizer keys of one GGUF file."""

    def __init__(self, path):
        self.path = path
        self.fields = GGUFReader(path).fields
        self.model = self.get("model")
        self.pre = self.get("pre")
        self.tokens = list(self.get("tokens"))
        self.types = list(self.get("token_type"))
        if self.model in ("llama", "gemma4"):  # converters write the spaces of these as spaces
            self.tokens = [t.replace(" ", "\u2581") if kind == USER_DEFINED else t
                           for t, kind in zip(self.tokens, self.types)]

    def get(self, key, default=None):
        field = self.fields.get("tokenizer.ggml." + key)
        return default if field is None else field.contents()

    def of_type(self, *kinds):
        return [t for t, kind in zip(self.tokens, self.types) if kind in kinds]

    def supported(self):
        return self.model in ("llama", "gemma4") or self.model == "gpt2" and self.pre in PRE_TOKENIZERS

    def tokenizers(self):
        """One that knows no control tokens, and one that finds them in any text."""
        make = self._byte_level if self.model == "gpt2" else self._characters
        plain, special = make(), make()
        for tokenizer in (plain, special):
            tokenizer.add_tokens([AddedToken(t, normalized=False) for t in self.of_type(USER_DEFINED)])
        special.add_special_tokens([AddedToken(t, special=True, normalized=False)
                                    for t in self.of_type(CONTROL, UNKNOWN)])
        assert special.get_vocab_size() == len(self.tokens)
        return plain, special

    def _byte_level(self):
        steps, nfc, ignore_merges = PRE_TOKENIZERS[self.pre]
        merges = [tuple(m.split(" ")) for m in self.get("merges")]
        tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(self.tokens)}, merges,
                                         ignore_merges=ignore_merges))
        if nfc:
            tokenizer.normalizer = normalizers.NFC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps())
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer

    def _characters(self):
        prefix = self.get("add_space_prefix", self.model == "llama")
        if self.model == "gemma4":
            merges = [tuple(m.split(" ")) for m in self.get("merges")]
        else:
            merges = merges_of_scores({t: 0.0 if kind == USER_DEFINED else score for t, score, kind
                                       in zip(self.tokens, self.get("scores"), self.types)
                                       if kind in (NORMAL, USER_DEFINED)})
        unknown = self.tokens[self.get("unknown_token_id", 0)]
        tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(self.tokens)}, merges, fuse_unk=True,
                                         byte_fallback=True, unk_token=unknown))
        replace = normalizers.Replace(" ", "\u2581")
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), replace]) if prefix else replace
        strip = [decoders.Strip(" ", 1, 0)] if prefix else []
        tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                               decoders.Fuse(), *strip])
        return tokenizer
