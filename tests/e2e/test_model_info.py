"""`banyan model info`: both test models, models that will not run, and files that are broken."""
import json
import os
import struct
import subprocess

import pytest

import banyan

STRING, UINT32 = 8, 4


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + (
        text(value) if kind == STRING else struct.pack("<I", value))


def gguf(*keys, version=3, tensors=b"", tensor_count=0, order="<"):
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, tensor_count, len(keys))
    return head + b"".join(keys) + tensors


def info(path):
    code, out, err = banyan.run("model", "info", path)
    assert (code, err) == (0, ""), err
    print(out)
    return out


def info_json(path):
    code, out, err = banyan.run("model", "info", path, "--json")
    assert (code, err) == (0, ""), err
    return json.loads(out)


def test_the_default_model_runs():
    facts = info_json(banyan.MODEL)
    assert facts["runs"] and facts["problems"] == []
    assert facts["architecture"] == "llama"
    assert facts["parameters"] == 134_515_008
    assert [facts[k] for k in ("layers", "heads", "kv_heads", "head_dim")] == [30, 9, 3, 64]
    assert facts["context_length"] == 8192
    assert facts["file_bytes"] == os.path.getsize(banyan.MODEL)
    assert {t["type"]: t["tensors"] for t in facts["tensor_types"]} == \
        {"Q4_1": 210, "Q8_0": 1, "F32": 61}
    assert facts["kv_bytes_per_token"] == 2 * 2 * 30 * 3 * 64
    assert {name: said["bytes_per_token"] for name, said in facts["kv_dtypes"].items()} == \
        {"f16": 23_040, "bf16": 23_040, "fp8": 11_520, "int8": 11_880, "int4": 7_200}
    assert {t["piece"] for t in facts["tokenizer"]["end_tokens"]} >= {"<|im_end|>"}
    assert facts["chat_template"]["source"] == "from the file"
    table = info(banyan.MODEL)
    for words in ("runs            yes", "134,515,008", "Q4_1", "1 GiB holds 46,592 tokens"):
        assert words in table


def test_what_it_says_is_what_a_server_says(smol):
    facts = info_json(banyan.MODEL)
    served = smol.get("/v1/models").json()["data"][0]
    assert facts["context_length"] == served["max_model_len"]
    for name in ("parameters", "vocabulary_size", "kv_bytes_per_token"):
        assert facts[name] == served["banyan"][name]
    assert facts["weight_bytes"] <= served["banyan"]["weight_bytes"] < 1.05 * facts["weight_bytes"]


def test_all_that_keeps_a_model_from_running_is_said(tmp_path):
    path = tmp_path / "moe.gguf"
    path.write_bytes(gguf(key("general.architecture", STRING, "mixtral"),
                          key("mixtral.block_count", UINT32, 2),
                          key("tokenizer.ggml.model", STRING, "t5"),
                          tensors=text("w") + struct.pack("<IQIQ", 1, 256, 10, 0) + bytes(200),
                          tensor_count=1))
    facts = info_json(path)
    assert not facts["runs"] and facts["layers"] == 2
    problems = "\n".join(facts["problems"])
    assert len(facts["problems"]) == 3
    for words in ("'mixtral'", "llama", "Q2_K", "'w'", "F16", "'t5'"):
        assert words in problems
    table = info(path)
    assert "runs            no:" in table and "- the architecture 'mixtral'" in table


BROKEN = {
    "not a model": (b"PK\x03\x04 a zip file", "not a GGUF file"),
    "big-endian": (gguf(version=3, order=">"), "big-endian"),
    "version 1": (gguf(version=1), "version 1"),
    "a key twice": (gguf(key("same", UINT32, 1), key("same", UINT32, 2)), "'same'"),
    "an odd alignment": (gguf(key("general.alignment", UINT32, 24)), "general.alignment"),
    "a tensor past the end": (
        gguf(tensors=text("w") + struct.pack("<IQIQ", 1, 64, 0, 0) + bytes(32), tensor_count=1),
        "'w'"),
    "a part without the others": (
        gguf(key("split.count", UINT32, 3), key("split.no", UINT32, 0)), "split.count"),
    "empty": (b"", "empty"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_one_clear_line(tmp_path, name):
    content, words = BROKEN[name]
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    code, out, err = banyan.run("model", "info", path)
    assert (code, out) == (1, "")
    print(err)
    assert err.count("\n") == 1 and words in err and str(path) in err
    code, out, err = banyan.run("model", "info", "--json", path)
    assert (code, err) == (1, "")
    assert words in json.loads(out)["error"]


def test_an_answer_that_cannot_be_written_is_a_failure(tmp_path):
    path = tmp_path / "empty.gguf"
    path.write_bytes(gguf(key("general.architecture", STRING, "llama")))
    for command in (["model", "info", path], ["model", "info", "--json", path], ["--help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([banyan.BINARY, *command], env=banyan.environment(), stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=banyan.PATIENCE)
        assert done.returncode == 1 and done.stderr.startswith("banyan: stdout cannot be written")


def test_a_file_that_is_not_there():
    code, out, err = banyan.run("model", "info", "/nowhere.gguf")
    assert (code, out) == (1, "") and "/nowhere.gguf: it cannot be opened" in err


def test_a_model_in_parts(tmp_path):
    def part(number, tensor):
        keys = [key("split.no", UINT32, number), key("split.count", UINT32, 2),
                key("split.tensors.count", UINT32, 2)]
        head = gguf(*keys, tensors=text(tensor) + struct.pack("<IQIQ", 1, 8, 0, 0), tensor_count=1)
        path = tmp_path / f"m-{number + 1:05}-of-00002.gguf"
        path.write_bytes(head + bytes(-len(head) % 32) + bytes(32))
        return path

    first = part(0, "a")
    code, _, err = banyan.run("model", "info", first)
    assert code == 1 and "'m-00002-of-00002.gguf'" in err
    part(1, "b")
    facts = info_json(first)
    assert facts["parts"] == 2 and facts["tensor_types"][0]["tensors"] == 2
    assert "in 2 parts" in info(first)
