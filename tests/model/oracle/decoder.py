"""The decoders of GGUF files in plain numpy and float64: the oracle of Banyan's own.

Written after the code that the models' authors published in Hugging Face transformers (modeling_llama.py,
modeling_qwen2.py, modeling_qwen3.py, modeling_gemma3.py), with whole matrices of scores and masks: nothing is
quantized, cached, chunked or rounded on the way. Weights are dequantized exactly by the PyPI package gguf.
"""
import gguf
import numpy as np

FAMILIES = ("gemma3", "llama", "qwen2", "qwen3")


def exactly(x, _weight_type):
    return x


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rotate_half(x):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def undo_permutation(rows, heads):
    """Rows of a llama file's query or key matrix, neighbours paired, in the order of the original: halves paired."""
    size = rows.shape[0] // heads
    return rows.reshape(heads, size // 2, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


class Decoder:
    def __init__(self, path, activations=exactly):
        """`activations(x, type)` is what a product with a matrix of that type reads of its input x."""
        reader = gguf.GGUFReader(path)
        self.fields = {name: field.contents() for name, field in reader.fields.items()}
        self.tensors = {t.name: t for t in reader.tensors}
        self.activations = activations
        self.family = self.fields["general.architecture"]
        assert self.family in FAMILIES, self.family
        self.heads = self.key("attention.head_count")
        self.kv_heads = self.key("attention.head_count_kv", self.heads)
        self.width = self.key("embedding_length")
        self.head_dim = self.key("attention.key_length", self.width // self.heads)
        self.layers = self.key("block_count")
        self.eps = self.key("attention.layer_norm_rms_epsilon")
        self.vocabulary = self.tensors["token_embd.weight"].data.shape[0]
        assert self.key("rope.dimension_count", self.head_dim) == self.head_dim
        assert self.key("rope.scaling.type", "linear") in ("linear", "none")

    def key(self, name, otherwise=None):
        value = self.fields.get(f"{self.family}.{name}", otherwise)
        assert value is not None, name
        return value

    def weight(self, name):
        t = self.tensors[name]
        return gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float64).reshape(t.shape[::-1])

    def project(self, x, name, heads=None):
        """x W' + b; `heads` where the rows of a llama file are permuted within each."""
        w = self.weight(name + ".weight")
        b = self.weight(name + ".bias") if name + ".bias" in self.tensors else np.zeros(len(w))
        if heads and self.family == "llama":
            w, b = undo_permutation(w, heads), undo_permutation(b, heads)
        return self.activations(x, self.tensors[name + ".weight"].tensor_type) @ w.T + b

    def norm(self, x, name):
        return rms_norm(x, self.weight(name + ".weight"), self.eps)

    def is_sliding(self, layer):
        """Whether a layer sees a window only; gemma3's config calls its layers so."""
        if self.key("attention.sliding_window", 0) == 0:
            return False
        if self.family == "gemma3":
            return (layer + 1) % self.key("attention.sliding_window_pattern", 6) != 0
        return True

    def rotation(self, layer, tokens):
        local = self.family == "gemma3" and self.is_sliding(layer)
        base = self.key("rope.freq_base_swa", 10000.0) if local else self.key("rope.freq_base", 10000.0)
        frequencies = 1.0 / base ** (np.arange(0, self.head_dim, 2) / self.head_dim)
        if "rope_freqs.weight" in self.tensors:  # Llama 3.1
            frequencies = frequencies / self.weight("rope_freqs.weight")
        if not local:
            frequencies = frequencies / self.key("rope.scaling.factor", 1.0)
        angles = np.outer(np.arange(tokens), frequencies)
        angles = np.concatenate([angles, angles], axis=-1)[:, None, :]
        return np.cos(angles), np.sin(angles)

    def mask(self, layer, tokens):
        back = np.arange(tokens)[:, None] - np.arange(tokens)[None, :]
        seen = back >= 0
        if self.is_sliding(layer):
            seen &= back < self.key("attention.sliding_window")
        return np.where(seen, 0.0, -np.inf)

    def attention(self, x, layer):
        p = f"blk.{layer}."
        tokens = len(x)
        q = self.project(x, p + "attn_q", self.heads).reshape(tokens, self.heads, self.head_dim)
        k = self.project(x, p + "attn_k", self.kv_heads).reshape(tokens, self.kv_heads, self.head_dim)
        v = self.project(x, p + "attn_v").reshape(tokens, self.kv_heads, self.head_dim)
        if self.family in ("qwen3", "gemma3"):
            q, k = self.norm(q, p + "attn_q_norm"), self.norm(k, p + "attn_k_norm")
        cos, sin = self.rotation(layer, tokens)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k = np.repeat(k, self.heads // self.kv_heads, axis=1)
        v = np.repeat(v, self.heads // self.kv_heads, axis=1)
        # query_pre_attn_scalar: the size of a head, but for Gemma 3 27B.
        divisor = self.width / self.heads if self.family == "gemma3" and self.layers == 62 else self.head_dim
        out = np.empty_like(q)
        for h in range(self.heads):
            scores = q[:, h] @ k[:, h].T / np.sqrt(divisor) + self.mask(layer, tokens)
            p_h = np.exp(scores - scores.max(axis=-1, keepdims=True))
            out[:, h] = p_h / p_h.sum(axis=-1, keepdims=True) @ v[:, h]
        return self.project(out.reshape(tokens, -1), p + "attn_output")

    def feed_forward(self, x, layer):
        p = f"blk.{layer}."
        act = gelu_tanh if self.family == "gemma3" else silu
        return self.project(act(self.project(x, p + "ffn_gate")) * self.project(x, p + "ffn_up"), p + "ffn_down")

    def block(self, x, layer):
        p = f"blk.{layer}."
        h = self.attention(self.norm(x, p + "attn_norm"), layer)
        x = x + (self.norm(h, p + "post_attention_norm") if self.family == "gemma3" else h)
        h = self.feed_forward(self.norm(x, p + "ffn_norm"), layer)
        return x + (self.norm(h, p + "post_ffw_norm") if self.family == "gemma3" else h)

    def hidden(self, prompts):
        """What the head reads after each token, [tokens, width] for each prompt."""
        t = self.tensors["token_embd.weight"]
        xs = []
        for ids in prompts:
            rows = gguf.quants.dequantize(t.data[ids], t.tensor_type).astype(np.float64)
            xs.append(rows * np.sqrt(self.width) if self.family == "gemma3" else rows)
        for layer in range(self.layers):
            xs = [self.block(x, layer) for x in xs]
        return [self.norm(x, "output_norm") for x in xs]

    def logits(self, hidden, rows_at_once=32768):
        """[.., vocabulary]; the head is dequantized part by part, for vocabularies can be large."""
        t = self.tensors.get("output.weight", self.tensors["token_embd.weight"])
        x = self.activations(hidden, t.tensor_type)
        parts = [gguf.quants.dequantize(t.data[i:i + rows_at_once], t.tensor_type).astype(np.float64)
                 for i in range(0, len(t.data), rows_at_once)]
        return np.concatenate([x @ part.T for part in parts], axis=-1)
