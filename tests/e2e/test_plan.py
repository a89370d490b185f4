"""`banyan plan` against servers: what it says is what they allocate, page by page and byte by byte."""
import json
import pathlib
import re

import pytest

import banyan

CONFIGS = pathlib.Path(__file__).parent.parent / "server" / "configs"


def plan(*arguments):
    code, out, err = banyan.run("plan", *arguments, "--json")
    assert (code, err) == (0, ""), err
    return json.loads(out)


def served_formats():
    """The page formats that are planned for and that `banyan serve` offers."""
    _, text, _ = banyan.run("serve", "--help")
    offered = re.search(r"--kv-dtype(.*?)\n  -", text, re.DOTALL)[1]
    planned = plan("--shape", "1,1,32")["bytes_per_token"]
    return [name for name in planned if re.search(rf"\b{name}\b", offered)]


def ready_line(server):
    """What the log says of the pool once the model is loaded; None before."""
    lines = [json.loads(line) for line in server.stderr().splitlines(keepends=True)
             if line.endswith("\n")]
    return next((line for line in lines if "kv_bytes" in line), None)


def check_against_servers(model, *context):
    """For every format: what the model's plan says, and what a server of it says of itself."""
    memory = 10_000_000
    told = plan(model, "--kv-memory", f"{memory}B", "--page-size", 48, "--max-running", 4, *context)
    formats = served_formats()
    assert {"f16", "int4"} <= set(formats)
    for name in formats:
        planned = told["formats"][name]
        with banyan.serving("--kv-memory", memory, "--page-size", 48, "--kv-dtype", name, "--max-running", 4,
                            "--log-format", "json", model=model) as server:
            served = server.get("/v1/models").json()["data"][0]
            ready = banyan.eventually(lambda: ready_line(server), "the log line of readiness")
            facts = served["banyan"]
            assert planned["bytes_per_token"] == facts["kv_bytes_per_token"], name
            assert planned["page_bytes"] == server.metric("banyan_kv_page_bytes")
            assert planned["capacity"]["pages"] == facts["pages"] == ready["pages"]
            assert planned["capacity"]["pages"] == sum(server.pages().values()) == server.pool()
            assert planned["open_bytes"] == facts.get("kv_open_bytes", 0)
            assert planned["capacity"]["bytes"] == facts["kv_pool_bytes"] == ready["kv_bytes"]
            assert planned["capacity"]["tokens"] == facts["pages"] * facts["page_size"]
            assert told["model"]["context_length"] == served["max_model_len"]
            assert told["model"]["parameters"] == facts["parameters"]
            weights = told["model"]["weight_bytes"]
            assert weights <= facts["weight_bytes"] < 1.05 * weights
    return formats


def test_the_default_model_takes_what_is_planned():
    formats = check_against_servers(banyan.MODEL)
    print("formats:", formats)
    assert plan(banyan.MODEL)["bytes_per_token"]["f16"] == 23_040


def test_sessions_take_the_pages_that_are_planned():
    told = plan(banyan.MODEL, "--context", 100, "--shared-prefix", 40, "--sessions", 3,
                "--kv-memory", "16MiB")
    assert told["session_pages"] == {"all": 7, "shared": 2, "own": 5, "headroom": 4}
    prefix = [1000 + i for i in range(40)]
    with banyan.serving("--kv-memory", "16MiB", model=banyan.MODEL) as server:
        for session in range(3):
            prompt = prefix + [2000 + session] * 60
            server.complete(prompt, max_tokens=0)
            pages = 2 + 5 * (session + 1)
            # The answer leaves before the gauges are set.
            banyan.eventually(lambda pages=pages: server.pages()["tree"] == pages,
                              f"{pages} pages in the tree")
            assert server.pages()["tree"] == pages
    planned = told["formats"]["f16"]["sharing_pool"]
    assert planned["pages"] == pages
    assert planned["kv_memory"] == (pages + 3 * 4) * told["formats"]["f16"]["page_bytes"]


@pytest.mark.parametrize("headroom", [False, True])
def test_the_memory_it_recommends_runs_all_sessions_at_once(headroom):
    """Three answers of full length beside each other; with or without headroom none gives way."""
    told = plan(banyan.MODEL, "--context", 64, "--shared-prefix", 16, "--sessions", 3)
    f16 = told["formats"]["f16"]
    pool = f16["sharing_pool"]
    assert (pool["pages"], pool["headroom_pages"]) == (1 + 3 * 3, 3 * 4)
    memory = pool["kv_memory"] if headroom else pool["pages"] * f16["page_bytes"]
    with banyan.serving("--kv-memory", memory, "--max-running", 3, model=banyan.MODEL) as server:
        assert server.pool() * f16["page_bytes"] == memory
        prompts = [[1000] * 16 + [2000 + i] * 16 for i in range(3)]
        answer = server.complete(prompts, max_tokens=32, ignore_eos=True)
        assert [c["finish_reason"] for c in answer["choices"]] == ["length"] * 3
        assert answer["usage"]["completion_tokens"] == 3 * 32
        assert server.metric("banyan_preemptions_total") == 0


def test_a_shape_has_bytes_for_every_format():
    told = plan("--shape", "32,8,128")
    assert told["bytes_per_token"]["f16"] == 131_072
    assert set(told["bytes_per_token"]) == set(told["formats"])
    assert told["context"] is None and told["formats"]["f16"]["session"] is None


@pytest.mark.parametrize("name, memory, sessions, sharing", [
    ("llama-2-7b", "80GiB", 33, 66),
    ("llama-3-70b", "192GiB", 24, 47),
])
def test_a_config_is_planned_like_a_file(name, memory, sessions, sharing):
    told = plan(CONFIGS / f"{name}.json", "--memory", memory, "--shared-prefix", 0)
    assert told["model"]["weights_from"] == "estimate"
    capacity = told["formats"]["f16"]["capacity"]
    assert capacity["sessions"] == sessions
    half = plan(CONFIGS / f"{name}.json", "--memory", memory, "--shared-prefix",
                told["context"] // 2)["formats"]["f16"]["capacity"]
    assert half["sessions"] == sessions and half["sharing_sessions"] == sharing


def test_the_table_fits_a_terminal():
    arguments = [CONFIGS / "llama-3.1-405b.json", "--memory", "4TiB", "--sessions", 1_000_000,
                 "--shared-prefix", 2001, "--explain"]
    code, out, err = banyan.run("plan", *arguments)
    assert (code, err) == (0, ""), err
    print(out)
    assert max(map(len, out.splitlines())) <= 100
    assert "516,096" in out and "8,257,536" in out


REFUSED = {
    "no model": ([], "MODEL or --shape"),
    "a file that is not there": (["/nowhere.gguf"], "/nowhere.gguf"),
    "zero heads": (["--shape", "32,0,128"], "KV heads is 0"),
    "too many windows": (["--shape", "2,1,8,1,2,3"], "3 windows for 2 layers"),
    "a unit": (["--shape", "2,1,8", "--memory", "16GB"], "--memory"),
    "no room": ([CONFIGS / "llama-2-70b.json", "--memory", "80GiB"], "128.5 GiB"),
    "no numbers of that size": (
        ["--shape", "4096,4096,65536", "--context", 1 << 30, "--sessions", 1000000], "2^63"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_planned_is_one_clear_line(name):
    arguments, words = REFUSED[name]
    code, out, err = banyan.run("plan", *arguments)
    assert (code, out) == (1, "")
    print(err)
    assert err.startswith("banyan: ") and err.count("\n") == 1 and words in err


def test_a_broken_config_is_one_clear_line(tmp_path):
    path = tmp_path / "config.json"
    for content, words in [("{", "not valid JSON"), ("[]", "not an object"),
                           ('{"num_hidden_layers": -1}', "num_hidden_layers"),
                           ('{"num_hidden_layers": 1e99}', "num_hidden_layers")]:
        path.write_text(content)
        code, out, err = banyan.run("plan", path)
        assert (code, out) == (1, "") and err.count("\n") == 1
        assert str(path) in err and words in err
        code, out, err = banyan.run("plan", tmp_path, "--json")
        assert (code, err) == (1, "") and words in json.loads(out)["error"]
