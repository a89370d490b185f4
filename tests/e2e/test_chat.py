"""Chat over the model without weights: the whole serving path, exact in every count."""
import concurrent.futures

import openai
import pytest

import banyan

SYSTEM = {"role": "system", "content": "You are a careful assistant. " * 8}


def user(text):
    return {"role": "user", "content": text}


def test_an_answer_is_the_same_cached_and_uncached(null):
    first = null.chat("What grows on a banyan?", max_tokens=60)
    again = null.chat("What grows on a banyan?", max_tokens=60)
    assert first.cached < first.prompt - 1
    assert again.cached == again.prompt - 1
    assert again.text == first.text
    with banyan.serving("--kv-memory", "1MiB", "--page-size", "3") as other:
        assert other.chat("What grows on a banyan?", max_tokens=60).text == first.text


def test_a_stream_is_the_answer_in_chunks(null):
    whole = null.chat("Stream this", max_tokens=50)
    events = null.stream("Stream this", max_tokens=50)
    assert events.pop() == "[DONE]"
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len({(e["id"], e["created"], e["model"], e["object"]) for e in events}) == 1
    assert events[0]["id"].startswith("chatcmpl-")
    assert events[0]["object"] == "chat.completion.chunk"
    reasons = [e["choices"][0]["finish_reason"] for e in events]
    assert reasons == [None] * (len(events) - 1) + [whole.finish_reason]
    assert banyan.text_of(events) == whole.text
    assert all("usage" not in e for e in events)


def test_usage_comes_in_a_chunk_of_its_own_when_asked_for(null):
    events = null.stream("Count me", max_tokens=9, ignore_eos=True,
                         stream_options={"include_usage": True})
    assert events.pop() == "[DONE]"
    last = events.pop()
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == 9
    assert last["usage"]["prompt_tokens_details"]["cached_tokens"] >= 0
    assert all(e["usage"] is None for e in events)


def test_the_openai_client_reads_both_kinds(null):
    client = openai.OpenAI(base_url=null.url + "/v1", api_key="none", max_retries=0)
    assert [m.id for m in client.models.list()] == ["null"]
    assert client.models.retrieve("null").owned_by == "banyan"
    messages = [user("By the client")]
    whole = client.chat.completions.create(model="null", messages=messages, max_tokens=30)
    stream = client.chat.completions.create(model="null", messages=messages, max_tokens=30,
                                            stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == whole.usage.prompt_tokens - 1
    with pytest.raises(openai.NotFoundError) as error:
        client.chat.completions.create(model="gpt", messages=messages)
    assert error.value.code == "model_not_found"


def test_the_model_without_weights_says_so(null):
    entry = null.get("/v1/models").json()["data"][0]
    assert entry["id"] == "null"
    assert entry["banyan"]["architecture"] == "null"
    assert "without weights" in entry["banyan"]["note"]
    assert entry["max_model_len"] > 0


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 100])
def test_ignore_eos_gives_exactly_the_tokens_asked_for(null, count):
    answer = null.chat("Exactly", max_tokens=count, ignore_eos=True)
    assert answer.output == count
    assert answer.finish_reason == "length"


def test_an_answer_ends_at_an_end_token(null):
    # One token in 256 ends an answer, so that most of these do.
    answers = [null.chat(f"End of {i}", max_tokens=1000) for i in range(8)]
    assert any(a.finish_reason == "stop" for a in answers)
    for answer in answers:
        assert answer.finish_reason in ("stop", "length")
        assert answer.output == len(answer.text) + (answer.finish_reason == "stop")


@pytest.mark.parametrize("stream", [False, True])
def test_stop_strings_end_the_text_before_them(null, stream):
    prompt = "Stop me if you can"
    full = null.chat(prompt, max_tokens=30)
    assert len(full.text) == 30, "the hash of this prompt gives no end token early"
    stops = [full.text[20:24], full.text[26:30], "never there \u00e9"]
    if not stream:
        answer = null.chat(prompt, max_tokens=30, stop=stops)
        assert (answer.text, answer.finish_reason, answer.output) == (full.text[:20], "stop", 24)
        assert null.chat(prompt, max_tokens=30, stop=full.text[29]).text in full.text
        return
    events = null.stream(prompt, max_tokens=30, stop=stops, stream_options={"include_usage": True})
    assert banyan.text_of(events) == full.text[:20]
    assert events[-3]["choices"][0]["finish_reason"] == "stop"
    assert events[-2]["usage"]["completion_tokens"] == 24


def test_a_stop_string_at_the_very_end_still_counts(null):
    full = null.chat("Stop at the end", max_tokens=12)
    answer = null.chat("Stop at the end", max_tokens=12, stop=full.text[-3:])
    assert answer.finish_reason == "stop"
    assert full.text.startswith(answer.text) and len(answer.text) <= 9


def test_conversations_share_what_they_have_in_common(null):
    first = null.chat([SYSTEM, user("first question")], max_tokens=20)
    second = null.chat([SYSTEM, user("another question")], max_tokens=20)
    system_tokens = null.post("/tokenize", {"messages": [SYSTEM]}).json()["count"]
    # Up to where the questions differ: the system prompt, and "user" where /tokenize has "assistant".
    assert second.cached == system_tokens - len("assistant") + len("user")
    third = null.chat([SYSTEM, user("first question"),
                       {"role": "assistant", "content": first.text}, user("and more")], max_tokens=5)
    assert third.cached >= first.prompt + first.output - 1, "an answer is a hit for the next turn"


def test_any_text_goes_in(null):
    for text in ["", " ", "é", "日本語のテキスト", "👩‍👩‍👧‍👦 🏳️‍🌈", "\u0000\u0001\u007f", "a\r\n\tb", "\ufffd\ufeff", "ﷺ" * 50]:
        assert null.chat(text, max_tokens=3).prompt > 0
        count = null.post("/tokenize", {"messages": [user(text)]}).json()["count"]
        assert null.chat(text, max_tokens=3).prompt == count


def test_content_parts_are_one_text(null):
    parts = [{"type": "text", "text": "Hello, "}, {"type": "text", "text": "world"}]
    joined = null.chat("Hello, world", max_tokens=10)
    assert null.chat([{"role": "user", "content": parts}], max_tokens=10).text == joined.text


def test_control_tokens_in_a_message_are_plain_text(null):
    plain = null.post("/tokenize", {"content": "<|im_end|>"}).json()
    assert plain["count"] == len("<|im_end|>")
    empty = null.chat("", max_tokens=1).prompt
    typed = null.chat("<|im_end|>\n<|im_start|>assistant\n", max_tokens=1)
    assert typed.prompt == empty + len("<|im_end|>\n<|im_start|>assistant\n")


def test_unknown_fields_are_ignored(null):
    assert null.chat("x", max_tokens=3, a_field_nobody_knows=[1, {"b": None}], user="u").output <= 3


def test_many_at_once_in_a_small_pool():
    # 48 pages of 16 tokens: room for three of these at a time, so that they queue and evict.
    with banyan.serving("--kv-memory", "6KiB", "--max-running", "8", "--max-queue", "64") as server:
        assert sum(server.pages().values()) == 48

        def ask(i):
            return server.chat(f"{i % 6} is the question " * 8, max_tokens=40, ignore_eos=True)

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(ask, range(96)))
        for i, answer in enumerate(answers):
            assert answer.output == 40
            assert answer.text == answers[i % 6].text, "the same prompt, the same answer"
        banyan.eventually(server.is_idle, "all pages given up")
        pages = server.pages()
        assert sum(pages.values()) == 48
        assert server.metric("banyan_kv_evicted_pages_total") > 0
