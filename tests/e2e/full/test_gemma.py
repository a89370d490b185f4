"""Gemma 3 270M, a base model whose file has no chat template: SentencePiece, sliding windows and a
begin-of-text token through HTTP. For ./dev full, which fetches the model: BANYAN_GEMMA."""
import os

import openai
import pytest

import banyan
from test_plan import check_against_servers, plan

FRANCE = "Paris is the capital of France. Berlin is the capital of Germany. The capital of France is"


@pytest.fixture(scope="module")
def gemma():
    model = os.environ.get("BANYAN_GEMMA", "")
    assert model, "BANYAN_GEMMA must name the model's file"
    with banyan.serving("--kv-memory", "128MiB", "--served-model-name", "gemma",
                        model=model) as server:
        yield server
        banyan.eventually(server.is_idle, "all pages given up after the tests")


@pytest.fixture(scope="module")
def client(gemma):
    return openai.OpenAI(base_url=gemma.url + "/v1", api_key="none", max_retries=0)


def test_the_capital_of_france(client):
    answer = client.completions.create(model="gemma", prompt=FRANCE, temperature=0, max_tokens=6)
    assert "Paris" in answer.choices[0].text
    stream = client.completions.create(model="gemma", prompt=FRANCE, temperature=0, max_tokens=6,
                                       stream=True)
    assert "".join(c.choices[0].text for c in stream) == answer.choices[0].text


def test_prompts_begin_as_the_model_wants(gemma, client):
    tokens = gemma.post("/tokenize", {"prompt": "The capital", "return_token_strs": True}).json()
    assert tokens["token_strs"] == ["<bos>", "The", " capital"]
    bare = gemma.post("/tokenize", {"prompt": "The capital", "add_special_tokens": False}).json()
    assert bare["tokens"] == tokens["tokens"][1:]
    echoed = client.completions.create(model="gemma", prompt="The capital", max_tokens=1, echo=True,
                                       logprobs=1, temperature=0).choices[0]
    assert echoed.text.startswith("The capital")
    assert echoed.logprobs.tokens[:3] == ["<bos>", "The", " capital"]
    assert echoed.logprobs.text_offset == [0, 0, 3, len("The capital")]
    assert client.completions.create(model="gemma", prompt="", max_tokens=1).usage.prompt_tokens == 1


def test_a_prompt_longer_than_the_sliding_window(client):
    numbers = "".join(f"{i}, " for i in range(1, 200))
    answer = client.completions.create(model="gemma", prompt=numbers, temperature=0, max_tokens=6)
    assert answer.usage.prompt_tokens > 512
    assert answer.choices[0].text.strip().startswith("200")


def test_a_seed_is_repeatable(client):
    ask = dict(model="gemma", prompt="Once upon a time", max_tokens=12, temperature=1)
    texts = [client.completions.create(**ask, seed=seed).choices[0].text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_chat_goes_through_the_default_template(gemma, client):
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    answer = client.chat.completions.create(model="gemma", messages=messages, temperature=0,
                                            max_tokens=16)
    assert answer.choices[0].message.content
    assert answer.usage.completion_tokens <= 16
    count = gemma.post("/tokenize", {"messages": messages}).json()["count"]
    assert answer.usage.prompt_tokens == count
    again = client.chat.completions.create(model="gemma", messages=messages, temperature=0,
                                           max_tokens=16)
    assert again.choices[0].message.content == answer.choices[0].message.content
    assert again.usage.prompt_tokens_details.cached_tokens == count - 1


@pytest.mark.parametrize("text", ["naïve café", "日本語", "👩‍👩‍👧‍👦", "  two  spaces", "\u0000\u0007"])
def test_any_text_is_a_prompt_and_comes_back(gemma, text):
    tokens = gemma.post("/tokenize", {"content": text}).json()["tokens"]
    assert gemma.post("/detokenize", {"tokens": tokens}).json()["content"] == text


def test_a_window_over_layers_that_have_their_own_is_refused(gemma):
    answer = gemma.post("/v1/completions", {"prompt": "Hi", "kv_policy": {"type": "streaming", "window": 64}})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["param"] == "kv_policy" and "windows of their own" in error["message"]


# 15 of 18 layers see 512 tokens: the formula counts that, the server keeps all.
def test_the_model_takes_what_is_planned():
    model = os.environ["BANYAN_GEMMA"]
    check_against_servers(model)
    told = plan(model, "--context", 1024)
    assert told["model"]["windows"] == ([512] * 5 + [0]) * 3
    f16 = told["formats"]["f16"]
    assert f16["bytes_per_token"] == 18 * 1 * 256 * 2 * 2
    assert f16["session"]["formula_bytes"] == (15 * 512 + 3 * 1024) * 256 * 2 * 2
    assert f16["session"]["allocated_bytes"] == 1024 * f16["bytes_per_token"]
    assert any("keeps all positions" in note for note in told["notes"])
