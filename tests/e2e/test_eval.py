"""`banyan eval`: a short text in few formats, what is written of it, and what is refused."""
import json
import math
import xml.etree.ElementTree as ElementTree

import pytest

import banyan

TEXT = """The river had been low all summer, and when the rain came at last nobody in the village believed in it. They stood
under the eaves of the post office and watched the dust in the square turn dark, drop by drop, until there was no dust
left. Then the bell of the small church began to ring, although it was neither Sunday nor a feast, and the miller, who
owed money to everyone, walked out into the middle of the road and took off his hat. By the evening the ford was gone.
By the morning the bridge was gone as well, and with it the only road by which the tax collector could have come.
"""


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def refused(*arguments):
    code, out, err = banyan.run("eval", *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("banyan: ") and err.count("\n") == 1, err
    return err


def test_exact_pages_are_themselves_and_int8_is_close(tmp_path, text):
    files = {kind: tmp_path / f"eval.{kind}" for kind in ("json", "svg", "markdown")}
    code, out, err = banyan.run("eval", "--model", banyan.MODEL, "--text", text, "--configs", "f16,int8",
                                "--tokens", 120, "--context", 50, "--threads", 2,
                                *(part for kind, path in files.items() for part in (f"--{kind}", path)))
    assert (code, err) == (0, ""), err
    print(out)
    whole = json.loads(files["json"].read_text())
    assert (whole["tokens"], whole["windows"], whole["context"]) == (49 + 49 + 19, 3, 50)
    assert (whole["heads"], whole["kv_heads"]) == (9, 3)
    exact, int8 = whole["configurations"]
    assert (exact["name"], exact["bytes_per_token"], exact["peak_bytes"]) == ("f16", 23_040, 4 * 16 * 23_040)
    assert (exact["mean_kl"], exact["p99_kl"], exact["greedy_agreement"], exact["perplexity_ratio"]) == (0, 0, 1, 1)
    assert (int8["name"], int8["bytes_per_token"], int8["peak_bytes"]) == ("int8", 11_880, 4 * 16 * 11_880)
    assert 0 < int8["mean_kl"] < 0.01 and int8["mean_kl"] < int8["p99_kl"] < 0.1
    assert 0.9 < int8["greedy_agreement"] <= 1 and abs(int8["perplexity_ratio"] - 1) < 0.02
    assert 5 < exact["perplexity"] < 100
    moments = [n for window in (50, 50, 20) for n in range(1, window + 1)]
    fill = sum(moments) / sum(16 * math.ceil(n / 16) for n in moments)
    assert all(row["page_fill"] == pytest.approx(fill) for row in (exact, int8))
    assert all(row["decode_tokens_per_second"] > 0 for row in (exact, int8))
    assert all(row["passkeys"] == [] for row in (exact, int8))  # no room for any
    names = [element.text for element in ElementTree.parse(files["svg"]).iter("{http://www.w3.org/2000/svg}text")]
    assert {"f16", "int8"} <= set(names)
    assert out.count("\nf16 ") == 1 and out.count("\nint8 ") == 1
    assert "\n| int8 | 11,880 |" in files["markdown"].read_text()


def test_passkeys_are_looked_for(tmp_path, text):
    path = tmp_path / "eval.json"
    code, _, err = banyan.run("eval", "--model", banyan.MODEL, "--text", text, "--configs", "f16", "--tokens", 20,
                              "--context", 160, "--passkeys", 1, "--threads", 2, "--json", path)
    assert (code, err) == (0, ""), err
    whole = json.loads(path.read_text())
    asked = whole["configurations"][0]["passkeys"]
    assert [(key["tokens"], key["depth_percent"], key["asked"]) for key in asked] == \
        [(160, depth, 1) for depth in (0, 25, 50, 75, 100)]
    # SmolLM2 finds most keys in so short a text.
    assert sum(key["found"] for key in asked) >= 3


def test_a_window_with_sinks_takes_less(tmp_path, text):
    path = tmp_path / "eval.json"
    code, _, err = banyan.run("eval", "--model", banyan.MODEL, "--text", text, "--configs",
                              "f16+streaming:sinks=4,window=28", "--tokens", 96, "--context", 96, "--threads", 2,
                              "--json", path)
    assert (code, err) == (0, ""), err
    exact, streaming = json.loads(path.read_text())["configurations"]
    assert streaming["name"] == "f16+streaming:sinks=4,window=28"
    # The sinks' page, and the 28 keys in at most 3 others.
    assert (exact["peak_bytes"], streaming["peak_bytes"]) == (6 * 16 * 23_040, 4 * 16 * 23_040)
    assert exact["mean_kl"] == 0 < streaming["mean_kl"] < 1


def test_what_survives_takes_less(tmp_path, text):
    path = tmp_path / "eval.json"
    code, _, err = banyan.run("eval", "--model", banyan.MODEL, "--text", text, "--configs",
                              "f16+h2o:budget=32,f16+scissorhands:budget=32,f16+snapkv:budget=32,observe=8", "--tokens", 128,
                              "--context", 160, "--passkeys", 1, "--threads", 2, "--json", path)
    assert (code, err) == (0, ""), err
    exact, *others = json.loads(path.read_text())["configurations"]
    assert exact["peak_bytes"] == 8 * 16 * 23_040
    h2o, scissorhands, snapkv = others
    for row in others:
        assert 0 < row["mean_kl"] < 2 and 0.5 < row["greedy_agreement"] < 1, row
        assert [key["asked"] for key in row["passkeys"]] == [1] * 5
    # 48 slots, of which 32 survive, in pages of their own, with a page for what comes next.
    assert h2o["peak_bytes"] == scissorhands["peak_bytes"] == (3 + 3) * 16 * 23_040
    # The first half of the window, and what survives of it.
    assert snapkv["peak_bytes"] == (4 + 3) * 16 * 23_040


def test_what_is_chosen_takes_as_much(tmp_path, text):
    path = tmp_path / "eval.json"
    code, _, err = banyan.run("eval", "--model", banyan.MODEL, "--text", text, "--configs", "f16+quest:budget=48", "--tokens",
                              128, "--context", 128, "--passkeys", 0, "--threads", 2, "--json", path)
    assert (code, err) == (0, ""), err
    exact, quest = json.loads(path.read_text())["configurations"]
    assert quest["peak_bytes"] == exact["peak_bytes"]
    assert 0 < quest["mean_kl"] < 1 and 0.5 < quest["greedy_agreement"] < 1


def test_tables_go_into_a_page(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- banyan eval -->\nold\n<!-- end -->\nafter\n")
    code, _, err = banyan.run("eval", "--model", banyan.MODEL, "--text", text, "--configs", "f16", "--tokens", 20,
                              "--context", 20, "--markdown", page)
    assert (code, err) == (0, ""), err
    head, tables, tail = page.read_text().partition("| f16 | 23,040 |")
    assert head.startswith("before\n<!-- banyan eval -->\n") and "old" not in head
    assert tables and tail.endswith("<!-- end -->\nafter\n")


def test_what_cannot_be_evaluated_is_one_clear_line(tmp_path, text):
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    short = tmp_path / "short.txt"
    short.write_text("a")
    binary = tmp_path / "binary.txt"
    binary.write_bytes(b"abc\xff")
    for path, words in ((empty, "it is empty"), (short, "too short"), (binary, "UTF-8"), (tmp_path, "no regular file"),
                        (tmp_path / "nowhere.txt", "No such file")):
        line = refused("--model", banyan.MODEL, "--text", path)
        assert words in line and f"--text {path}" in line
    assert "'int9'" in refused("--model", banyan.MODEL, "--text", text, "--configs", "f16,int9")
    assert "the budget of 21 tokens is over the context of 20" in refused(
        "--model", banyan.MODEL, "--text", text, "--context", 20, "--configs", "f16+h2o:budget=21")
    assert "keeps single tokens, which the int4 pages" in refused(
        "--model", banyan.MODEL, "--text", text, "--context", 20, "--configs", "int4+snapkv:budget=9")
    assert "smaller than the sinks, 4" in refused("--model", banyan.MODEL, "--text", text, "--configs",
                                             "f16+streaming:window=3")
    assert "over the context of 20" in refused("--model", banyan.MODEL, "--text", text, "--context", 20, "--configs",
                                               "f16+streaming:window=17")
    assert "8192" in refused("--model", banyan.MODEL, "--text", text, "--context", 8193)
    assert "/nowhere.gguf" in refused("--model", "/nowhere.gguf", "--text", text)
    assert str(text) in refused("--model", text, "--text", text)
    assert "/nowhere/eval.json" in refused("--model", banyan.MODEL, "--text", text, "--json", "/nowhere/eval.json")
    page = tmp_path / "page.md"
    page.write_text("a page without marks\n")
    assert "banyan eval -->" in refused("--model", banyan.MODEL, "--text", text, "--markdown", page)
    assert page.read_text() == "a page without marks\n"
