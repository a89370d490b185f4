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


def run_into(folder, work, *arguments):
    """(what it printed, what it made of the page)"""
    page = folder / "page.md"
    page.write_text(f"before\n<!-- ./dev bench --work {work} -->\nold\n<!-- end -->\nafter\n")
    run = pathlib.Path(__file__).resolve().parents[1] / "bench/run.py"
    done = subprocess.run([sys.executable, run, "--banyan", banyan.BINARY, "--model", banyan.MODEL, "--work", work,
                           "--rounds", "1", "--into", page, *arguments],
                          env=banyan.environment(), capture_output=True, text=True, timeout=4 * banyan.PATIENCE)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n<!--") and text.endswith("<!-- end -->\nafter\n") and "old" not in text
    return json.loads(done.stdout)[work], text


def test_the_speed_table_goes_where_it_is_told(tmp_path):
    (prefill, decode), page = run_into(tmp_path, "speed", "--rows", "smollm2-(prefill-512|decode-64)")
    assert prefill["banyan"] > 0 and decode["banyan"] > 0 and decode["of_bandwidth"] > 0
    assert "| SmolLM2, prefill 512 |" in page and "| SmolLM2, decode 64 |" in page


def test_small_kv_pages_hold_more_and_a_window_holds_no_more(tmp_path):
    found, page = run_into(tmp_path, "small-kv", "--context", "160")
    for name, entry in found["formats"].items():
        assert entry["tokens_per_s"] > 0 and f"| {name} |" in page
        # Open pages are a fifteenth of so small a pool.
        open_pages = 0.2 if name == "int4" else 0
        assert entry["tokens_of_f16"] >= (entry["tokens_of_f16_at_least"] or 1) - open_pages, name
    streaming = found["streaming"]
    assert streaming["tokens"] == 20 * (streaming["policy"]["sinks"] + streaming["policy"]["window"])
    assert streaming["tokens_per_s"] and streaming["resident_mib"][-1] - streaming["resident_mib"][1] < 8
