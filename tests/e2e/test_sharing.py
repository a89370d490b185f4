"""Prompts that are the same, or begin alike, at the same time are computed once; a salt keeps them apart."""
import concurrent.futures

import openai
import pytest

import banyan

PROMPT = 1000
CLIENTS = 32


def tokens(count, seed):
    """Token ids that differ between seeds from the first one on."""
    return [32 + (seed + i * i) % 95 for i in range(count)]


@pytest.fixture(scope="module", params=["on", "off"])
def caching(request):
    return request.param


@pytest.fixture(scope="module")
def slow(caching):
    """Its steps are small, so that one prompt takes many of them."""
    # 4,096 pages hold 32 prompts that share nothing.
    with banyan.serving("--kv-memory", "512KiB", "--max-running", str(CLIENTS), "--max-batch-tokens",
                        CLIENTS + 1, "--prefix-caching", caching) as server:
        yield server
        banyan.eventually(server.is_idle, "all pages given up after the tests")


def grown(server, before):
    banyan.eventually(server.is_idle, "idle")
    return server.computed() - before


def ask_at_once(server, bodies):
    """One connection for each."""
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: server.complete(**body), bodies))


def test_the_same_prompt_at_once_is_computed_once(slow, caching):
    body = {"prompt": tokens(PROMPT, seed=1), "max_tokens": 20}
    before = slow.computed()
    answers = ask_at_once(slow, [body] * CLIENTS)
    assert len({answer["choices"][0]["text"] for answer in answers}) == 1
    hits = sorted(banyan.cached(answer) for answer in answers)
    if caching == "on":
        assert hits == [0] + [PROMPT - 1] * (CLIENTS - 1)
        assert grown(slow, before) == PROMPT + CLIENTS - 1
    else:
        assert hits == [0] * CLIENTS
        assert grown(slow, before) == PROMPT * CLIENTS


def test_the_same_prompt_many_times_in_one_request_is_computed_once(slow, caching):
    before = slow.computed()
    answer = slow.complete([tokens(PROMPT, seed=2)] * CLIENTS, max_tokens=20)
    assert len({choice["text"] for choice in answer["choices"]}) == 1
    assert banyan.cached(answer) == ((CLIENTS - 1) * (PROMPT - 1) if caching == "on" else 0)
    assert grown(slow, before) == \
        (PROMPT + CLIENTS - 1 if caching == "on" else CLIENTS * PROMPT)


def test_prompts_that_part_are_computed_together_up_to_there(slow, caching):
    # A tree: all begin alike, four groups go on alike, and each ends in its own way.
    prompts = [tokens(503, seed=3) + tokens(201, seed=4 + group) + tokens(50, seed=8 + member)
               for group in range(4) for member in range(4)]
    before = slow.computed()
    answer = slow.complete(prompts, max_tokens=5)
    all_tokens = sum(map(len, prompts))
    once = 503 + 4 * 201 + 16 * 50
    assert banyan.cached(answer) == (all_tokens - once if caching == "on" else 0)
    assert grown(slow, before) == (once if caching == "on" else all_tokens)
    texts = [choice["text"] for choice in answer["choices"]]
    alone = [slow.complete(prompt, max_tokens=5)["choices"][0]["text"] for prompt in prompts]
    assert texts == alone


def test_a_salt_each_shares_nothing(slow):
    body = {"prompt": tokens(PROMPT, seed=20), "max_tokens": 20}
    before = slow.computed()
    answers = ask_at_once(slow, [{**body, "cache_salt": f"client {i}"} for i in range(CLIENTS)])
    assert len({answer["choices"][0]["text"] for answer in answers}) == 1, "a salt is no seed"
    assert [banyan.cached(answer) for answer in answers] == [0] * CLIENTS
    assert grown(slow, before) == PROMPT * CLIENTS


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_a_salt_splits_what_is_cached(null, path):
    text = f"asked on {path} by many"
    prompt = {"prompt": text} if path == "/v1/completions" else \
        {"messages": [{"role": "user", "content": text}]}

    def ask(**members):
        answer = null.post(path, {**prompt, "max_tokens": 1, **members})
        assert answer.status_code == 200, answer.text
        return answer.json()["usage"]["prompt_tokens"] - banyan.cached(answer.json())

    assert ask() > 10
    assert ask(cache_salt=None) == 1, "null is none"
    for salt in ("a", "b", "ab", "a\0b", "0:", "é", "s" * 1024):
        assert ask(cache_salt=salt) > 10, salt
        assert ask(cache_salt=salt) == 1, salt
    assert ask() == 1


def test_openais_client_hands_salt_and_priority_through(null):
    client = openai.OpenAI(base_url=null.url + "/v1", api_key="none", max_retries=0)

    def ask(**extra):
        return client.chat.completions.create(
            model="null", messages=[{"role": "user", "content": "through a real client"}],
            max_tokens=1, extra_body=extra).usage

    first = ask(cache_salt="team-7", priority=9)
    assert first.prompt_tokens_details.cached_tokens == 0
    again = ask(cache_salt="team-7")
    assert again.prompt_tokens_details.cached_tokens == again.prompt_tokens - 1
    with pytest.raises(openai.BadRequestError, match="priority"):
        ask(priority=10)


def test_real_pages_are_shared_while_they_are_computed(smol):
    # 32 tokens a step: the others come while the first is being computed.
    prompt = "".join(f"{i} green bottles, " for i in range(40))
    ask = {"max_tokens": 8, "temperature": 0, "logprobs": 2}
    alone = smol.complete(prompt, cache_salt="alone", **ask)
    length = alone["usage"]["prompt_tokens"]
    assert length > 100
    before = smol.computed()
    together = ask_at_once(smol, [{"prompt": prompt, **ask}] * 8)
    assert sorted(map(banyan.cached, together)) == [0] + [length - 1] * 7
    assert grown(smol, before) == length + 7
    for answer in together:
        assert answer["choices"] == alone["choices"], "the same bits"
