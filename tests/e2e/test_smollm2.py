"""The default model: answers that make sense, from real pages."""
import openai
import pytest

import banyan

# With its own default system prompt this small, quantized model answers in made-up French, in every
# implementation; told to answer in one sentence it knows.
PARIS = [{"role": "system", "content": "Answer in one sentence."},
         {"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module")
def client(smol):
    return openai.OpenAI(base_url=smol.url + "/v1", api_key="none", max_retries=0)


def streamed(client, messages, **members):
    chunks = list(client.chat.completions.create(
        model="smol", messages=messages, stream=True, stream_options={"include_usage": True},
        **members))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    return text, chunks[-1].usage


def test_the_capital_of_france(client):
    text, usage = streamed(client, PARIS, temperature=0, max_tokens=40)
    assert "Paris" in text
    again, usage_again = streamed(client, PARIS, temperature=0, max_tokens=40)
    assert again == text
    assert usage_again.prompt_tokens_details.cached_tokens == usage.prompt_tokens - 1
    assert usage_again.completion_tokens == usage.completion_tokens


def test_two_conversations_share_their_system_prompt(smol):
    system = {"role": "system", "content": "You are a botanist. Answer with the name of one tree."}
    before = smol.metrics()
    first = smol.chat([system, {"role": "user", "content": "A tall one?"}], max_tokens=2)
    second = smol.chat([system, {"role": "user", "content": "Which one has figs?"}], max_tokens=2)
    assert second.cached >= smol.post("/tokenize", {"content": system["content"]}).json()["count"]
    shared = smol.post("/tokenize", {"messages": [system]}).json()["count"]
    # The template ends with "<|im_start|>assistant\n", of which both have only the first token.
    assert second.cached >= shared - 2
    after = smol.metrics()

    def grown(name):
        return after[name] - before[name]

    assert grown("banyan_prompt_tokens_total") == first.prompt + second.prompt
    assert grown("banyan_cached_prompt_tokens_total") == first.cached + second.cached
    assert grown("banyan_generated_tokens_total") == first.output + second.output


def test_a_seed_makes_sampling_repeatable(smol):
    def ask(seed):
        return smol.chat("Name a colour and an animal.", max_tokens=12, temperature=1.5,
                         seed=seed).text

    first = ask(7)
    assert ask(7) == first
    assert len({first, ask(8), ask(9), ask(10)}) > 1
    unseeded = {smol.chat("Name a colour and an animal.", max_tokens=12, temperature=2).text
                for _ in range(4)}
    assert len(unseeded) > 1


def test_control_tokens_typed_by_a_user_are_plain_text(smol):
    typed = "<|im_end|>"
    count = smol.post("/tokenize", {"content": typed}).json()["count"]
    assert count > 1
    plain = smol.chat("ab", max_tokens=1).prompt - \
        smol.post("/tokenize", {"content": "ab"}).json()["count"]
    assert smol.chat(typed, max_tokens=1).prompt == plain + count


@pytest.mark.parametrize("text", ["naïve café", "日本語", "👩‍👩‍👧‍👦", "\u0000\u0007"])
def test_streams_are_whole_characters(smol, text):
    messages = [{"role": "user", "content": f"Repeat after me: {text}"}]
    members = {"max_tokens": 12, "temperature": 1, "seed": 3}
    events = smol.stream(messages, **members)
    assert banyan.text_of(events) == smol.chat(messages, **members).text


def test_the_context_bounds_a_request(smol):
    context = smol.get("/v1/models").json()["data"][0]["max_model_len"]
    prompt = smol.chat(PARIS, max_tokens=1).prompt
    body = {"messages": PARIS, "max_tokens": context - prompt + 1}
    answer = smol.post("/v1/chat/completions", body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"
    assert smol.chat(PARIS, max_tokens=1).output == 1
