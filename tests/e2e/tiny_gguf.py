"""A model with random weights and the default model's tokenizer, some megabytes."""
import gguf
import numpy

import banyan


def write(path):
    source = gguf.GGUFReader(banyan.MODEL)
    writer = gguf.GGUFWriter(path, "llama")
    for name, field in source.fields.items():
        if name.startswith("tokenizer."):
            kinds = (field.types[0], field.types[-1]) if len(field.types) > 1 else (field.types[0],)
            writer.add_key_value(name, field.contents(), *kinds)
    vocabulary = len(source.fields["tokenizer.ggml.tokens"].data)
    embedding, hidden, heads, kv_heads, layers = 32, 64, 4, 2, 2
    writer.add_context_length(4096)
    writer.add_embedding_length(embedding)
    writer.add_feed_forward_length(hidden)
    writer.add_block_count(layers)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    random = numpy.random.default_rng(7)

    def matrix(name, rows, cols):
        writer.add_tensor(name + ".weight", (random.standard_normal((rows, cols)) / cols**0.5).astype(numpy.float16))

    def norm(name):
        writer.add_tensor(name + ".weight", numpy.ones(embedding, numpy.float32))

    matrix("token_embd", vocabulary, embedding)
    norm("output_norm")
    for layer in range(layers):
        prefix = f"blk.{layer}."
        norm(prefix + "attn_norm")
        norm(prefix + "ffn_norm")
        matrix(prefix + "attn_q", embedding, embedding)
        for name in ("attn_k", "attn_v"):
            matrix(prefix + name, kv_heads * embedding // heads, embedding)
        matrix(prefix + "attn_output", embedding, embedding)
        for name in ("ffn_gate", "ffn_up"):
            matrix(prefix + name, hidden, embedding)
        matrix(prefix + "ffn_down", embedding, hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
