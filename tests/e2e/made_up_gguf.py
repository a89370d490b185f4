"""Models of the llama family with random weights and the default model's tokenizer."""
import collections

import gguf
import numpy

import banyan

Shape = collections.namedtuple("Shape", "embedding hidden heads kv_heads layers")
TINY = Shape(32, 64, 4, 2, 2)  # some megabytes
SMOLLM2_135M = Shape(576, 1536, 9, 3, 30)
NUMBERS = 1_000_003  # that are random: then they come again, which leaves little of a file that is compressed


def write(path, shape=TINY):
    source = gguf.GGUFReader(banyan.MODEL)
    writer = gguf.GGUFWriter(path, "llama")
    for name, field in source.fields.items():
        if name.startswith("tokenizer."):
            kinds = (field.types[0], field.types[-1]) if len(field.types) > 1 else (field.types[0],)
            writer.add_key_value(name, field.contents(), *kinds)
    vocabulary = len(source.fields["tokenizer.ggml.tokens"].data)
    writer.add_context_length(4096)
    writer.add_embedding_length(shape.embedding)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_block_count(shape.layers)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    numbers = numpy.random.default_rng(7).standard_normal(NUMBERS).astype(numpy.float32)
    used = 0

    def matrix(name, rows, cols):
        nonlocal used
        values = numpy.resize(numpy.roll(numbers, -used), (rows, cols))
        used = (used + rows * cols) % NUMBERS
        writer.add_tensor(name + ".weight", (values / cols**0.5).astype(numpy.float16))

    def norm(name):
        writer.add_tensor(name + ".weight", numpy.ones(shape.embedding, numpy.float32))

    matrix("token_embd", vocabulary, shape.embedding)
    norm("output_norm")
    for layer in range(shape.layers):
        prefix = f"blk.{layer}."
        norm(prefix + "attn_norm")
        norm(prefix + "ffn_norm")
        matrix(prefix + "attn_q", shape.embedding, shape.embedding)
        for name in ("attn_k", "attn_v"):
            matrix(prefix + name, shape.kv_heads * shape.embedding // shape.heads, shape.embedding)
        matrix(prefix + "attn_output", shape.embedding, shape.embedding)
        for name in ("ffn_gate", "ffn_up"):
            matrix(prefix + name, shape.hidden, shape.embedding)
        matrix(prefix + "ffn_down", shape.embedding, shape.hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
