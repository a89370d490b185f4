"""`banyan bench kernels` and the table of `./dev bench`, in as little time as they take: what is in them, never how
quick it was."""
import json
import pathlib
import subprocess
import sys

import pytest

import banyan

GROUPS = {"product", "attention", "rows"}


def report(*arguments):
    code, out, err = banyan.run("bench", "kernels", "--time", "10ms", "--json", *arguments)
    assert (code, err) == (0, ""), err
    return json.loads(out)


def check_rates(found):
    roofs = found["roofs"]
    assert roofs["memory_bytes_per_second"] > 0 and roofs["cache_bytes_per_second"] > 0
    assert all(rate > 0 for rate in roofs["multiply_adds_per_second"].values())
    for kernel in found["kernels"]:
        assert kernel["group"] in GROUPS and kernel["bound"] in ("memory", "cache", "products")
        assert kernel["seconds"] > 0 and kernel["of_roof"] > 0, kernel
        assert kernel["bytes_per_second"] > 0, kernel
        # Multiply-adds are what products and attention do.
        assert (kernel["multiply_adds_per_second"] > 0) == (kernel["group"] != "rows"), kernel


def test_every_kernel_of_a_step_is_measured():
    found = report("--threads", "1")
    check_rates(found)
    assert found["threads"] == 1
    assert set(found["roofs"]["multiply_adds_per_second"]) == {"Q4_1", "Q8_0", "F32"}
    names = {(k["group"], k["name"]) for k in found["kernels"]}
    for words in ("attn_q", "attn_output", "ffn_gate", "ffn_down", "vocabulary", "all of a"):
        rows = [k["rows"] for k in found["kernels"] if k["group"] == "product" and words in k["name"]]
        assert sorted(rows) == [1, 4, 16, 256], words
    assert {name for group, name in names if group == "rows"} >= {"embed", "rms norm", "rope and page write"}
    attention = {name for group, name in names if group == "attention"}
    assert any("decode" in name for name in attention) and any("prefill" in name for name in attention)


def test_roofs_alone():
    found = report("--roofs")
    check_rates(found)
    assert found["kernels"] == []


def test_a_table_for_people_at_the_shapes_of_a_file():
    code, out, err = banyan.run("bench", "kernels", "--time", "10ms", "--model", banyan.MODEL)
    assert (code, err) == (0, ""), err
    rows = [line for line in out.splitlines() if line.endswith("%")]
    assert len({len(row) for row in rows}) == 1, out
    assert sum(" x " in row for row in rows) == 4 * 5, out


@pytest.mark.parametrize("arguments, words", [
    (["--model", "/nowhere.gguf"], "/nowhere.gguf: it cannot be opened"),
    (["--cpu-variant", "abacus"], "'abacus'"),
    (["--threads", "0"], "--threads"),
    (["--threads", "257"], "--threads"),
    (["--time", "9ms"], "--time"),
    (["--time", "601s"], "--time"),
])
def test_what_cannot_be_measured_is_one_clear_line(arguments, words):
    code, out, err = banyan.run("bench", "kernels", *arguments)
    assert (code, out) == (1, "")
    assert err.count("\n") == 1 and words in err


def test_the_speed_table_goes_where_it_is_told(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- ./dev bench --work speed -->\nold\n<!-- end -->\nafter\n")
    run = pathlib.Path(__file__).resolve().parents[1] / "bench/run.py"
    done = subprocess.run([sys.executable, run, "--banyan", banyan.BINARY, "--model", banyan.MODEL, "--work", "speed",
                           "--rows", "smollm2-(prefill-512|decode-64)", "--rounds", "1", "--into", page],
                          env=banyan.environment(), capture_output=True, text=True, timeout=4 * banyan.PATIENCE)
    assert done.returncode == 0, done.stderr
    prefill, decode = json.loads(done.stdout)["speed"]
    assert prefill["banyan"] > 0 and decode["banyan"] > 0 and decode["of_bandwidth"] > 0
    head, table, tail = page.read_text().partition("| SmolLM2, decode 64 |")
    assert head.startswith("before\n<!--") and "| SmolLM2, prefill 512 |" in head and "old" not in head
    assert table and tail.endswith("<!-- end -->\nafter\n")
