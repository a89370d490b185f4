"""banyan-loadtest simulate, and calibrate, whose costs it reads. No time is asserted."""
import json
import os
import pathlib
import subprocess

import pytest

import banyan
import scripted

LOADTEST = os.environ.get("BANYAN_LOADTEST", "")
TRACE = pathlib.Path(__file__).resolve().parents[2] / "loadtest/traces/mooncake_conversation.jsonl.xz"
COSTS = {"step": 8e6, "prompt_token": 2e4, "decode_token": 5e4}


def run(*arguments):
    """(exit code, stdout, stderr)"""
    assert LOADTEST, "BANYAN_LOADTEST must name the built banyan-loadtest binary"
    done = subprocess.run([LOADTEST, *map(str, arguments)], env=banyan.environment(),
                          capture_output=True, text=True, timeout=banyan.PATIENCE)
    return done.returncode, done.stdout, done.stderr


def simulate(*arguments):
    """The JSON of a simulation that ends well."""
    code, out, err = run("simulate", "--json", *arguments)
    assert code == 0, err
    return json.loads(out)


# Few requests, since a sanitized build checks the tree after every change.
FEW = "--trace", TRACE, "--trace-requests", 60, "--page-tokens", 512


def test_a_compressed_trace_is_counted_for_each_pool():
    report = simulate(*FEW, "--pool-pages", "300,1000,unlimited", "--policies", "lru", "--serial",
                      "--quiet")
    rows = report["rows"]
    assert [row["pool_pages"] for row in rows] == [300, 1000, "unlimited"]
    assert {row["policy"] for row in rows} == {"lru"}
    assert report["mode"] == "serial"
    rates = [row["hit_rate"] for row in rows]
    assert 0 < rates[0] <= rates[1] <= rates[2] < 1
    assert rates[2] == pytest.approx(rows[2]["cached_tokens"] / rows[2]["prompt_tokens"])
    assert rows[2]["requests"] == 60 and rows[2]["evicted_pages"] == 0 < rows[0]["evicted_pages"]


def test_lists_are_multiplied_and_the_page_is_written(tmp_path):
    page = tmp_path / "page.html"
    report = simulate(*FEW, "--scale-lengths", 0.05, "--pool-pages", "200,unlimited", "--policies",
                      "lru,reuse", "--replicas", 2, "--routing", "round-robin,prefix", "--costs",
                      json.dumps(COSTS), "--slo", "ttft=2s", "--kv-bytes-per-token", 131072, "--html",
                      page)
    rows = report["rows"]
    told = [(row["routing"], row["policy"], row["pool_pages"]) for row in rows]
    assert told == [(routing, policy, pool) for routing in ("round-robin", "prefix")
                    for policy in ("lru", "reuse") for pool in (200, "unlimited")]
    assert all(row["ttft_ms"]["p50"] >= 8 for row in rows), "a step at least"
    assert rows[0]["pool_gib"] == 12.5 and "pool_gib" not in rows[1]
    assert report["cost"]["step"] == COSTS["step"]
    assert page.read_text().count("<figure") == 3


def test_the_table_is_for_people():
    code, out, err = run("simulate", *FEW, "--pool-pages", "300,unlimited", "--serial")
    assert code == 0
    assert "unlimited" in out and "knee at" in out
    assert "2 of 2" in err, "progress"


def test_the_generator_is_simulated():
    arguments = "--conversations", 20, "--turns", 3, "--costs", json.dumps(COSTS)
    report = simulate(*arguments, "--rate", 5)
    assert report["rows"][0]["requests"] == 60
    assert report["rows"][0]["hit_rate"] > 0.3, "later turns find the former"
    code, _, err = run("simulate", *arguments)
    assert code == 1 and "does not say when" in err


def test_a_page_that_cannot_be_written_is_said(tmp_path):
    code, out, err = run("simulate", *FEW, "--serial", "--html", tmp_path / "none" / "page.html")
    assert code == 1
    assert "unlimited" in out, "the table all the same"
    assert "page.html" in err


@pytest.mark.parametrize("arguments, named", [
    ((), "--costs"),
    (("--costs", "/nowhere/costs.json"), "/nowhere/costs.json"),
    (("--costs", '{"steps": 1}'), "steps"),
    (("--serial", "--pool-pages", "0"), "--pool-pages"),
    (("--serial", "--pool-pages", "67108865"), "--pool-pages"),
    (("--serial", "--pool-pages", "many"), "--pool-pages"),
    (("--serial", "--page-tokens", "1025"), "tokens of a page"),
    (("--serial", "--policies", "clock"), "--policies"),
    (("--serial", "--routing", "random"), "--routing"),
    (("--serial", "--replicas", "2"), "replicas"),
    (("--serial", "--slo", "ttft"), "ttft"),
    (("--serial", "--trace", "/nowhere/trace.jsonl"), "/nowhere/trace.jsonl"),
    (("--serial", "--pool-pages", ",".join(["1"] * 4097)), "4096"),
])
def test_options_that_make_no_sense_are_named(arguments, named):
    code, out, err = run("simulate", "--conversations", 1, *arguments)
    assert code == 1, (out, err)
    assert not out
    assert err.startswith("banyan-loadtest: ") and named in err


def test_what_calibrate_measures_is_what_simulate_reads(null, tmp_path):
    code, out, err = run("calibrate", null.url, "--lengths", "16,64,256", "--rows", "1,2",
                         "--repeats", 2)
    assert code == 0, err
    costs = json.loads(out)
    assert set(costs) == {"step", "prompt_token", "prompt_context", "decode_token",
                          "decode_context", "request"}
    assert all(cost >= 0 for cost in costs.values()) and any(costs.values())
    assert sum("by the costs" in line for line in err.splitlines()) == 3 + 3 * 2
    path = tmp_path / "costs.json"
    path.write_text(out)
    report = simulate("--conversations", 10, "--rate", 100, "--costs", path)
    assert report["cost"] == pytest.approx(costs)
    assert report["rows"][0]["ttft_ms"]["mean"] > 0


def test_calibrate_says_what_failed():
    assert run("calibrate", "http://127.0.0.1:1")[0] == 2
    with scripted.serving("status") as server:
        code, out, err = run("calibrate", server.url)
    assert code == 3 and not out
    assert "status 429" in err
