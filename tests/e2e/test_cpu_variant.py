"""Every set of instructions gives the same answers, bit for bit; one that is not there is refused."""

import pytest

import banyan

QUESTION = [{"role": "user", "content": "Name three trees that bear fruit."}]


@pytest.fixture(scope="module")
def portable():
    with banyan.serving("--kv-memory", "64MiB", "--served-model-name", "smol", "--max-running", "8",
                        "--cpu-variant", "portable", "--log-format", "json",
                        model=banyan.MODEL) as server:
        yield server
        banyan.eventually(server.is_idle, "all pages given up after the tests")


def entry(server):
    return server.get("/v1/models").json()["data"][0]["banyan"]


@pytest.mark.parametrize("members", [{"temperature": 0}, {"temperature": 1.1, "seed": 3}],
                         ids=["greedy", "seeded"])
def test_answers_are_the_same_bits(smol, portable, members):
    answers = [server.chat(QUESTION, max_tokens=24, logprobs=True, top_logprobs=5, **members)
               for server in (smol, portable)]
    assert answers[0].output > 1
    assert answers[0].body["choices"] == answers[1].body["choices"], "text and log-probabilities"


def test_a_server_says_what_computes(smol, portable):
    assert entry(portable)["cpu_variant"] == "portable"
    assert [entry["cpu_variant"] for entry in portable.logged("ready")] == ["portable"]
    assert entry(smol)["cpu_variant"] in ("avx512", "avx2", "portable")


def test_a_model_without_weights_says_nothing(null):
    assert "cpu_variant" not in entry(null)


def test_what_the_machine_does_not_run_is_refused_by_name():
    code, out, err = banyan.run("serve", "--model", "null", "--cpu-variant", "abacus")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "--cpu-variant" in err and "'abacus'" in err and "portable" in err
