"""What operators see agrees with what clients were told."""
import re

import banyan


def test_metrics_are_the_sums_of_usage(null):
    before = null.metrics()
    prompts = ["one", "two", "one", "a longer prompt, of several pages " * 6] * 3
    answers = [null.chat(p, max_tokens=20) for p in prompts]
    streams = [null.stream(p, max_tokens=20, stream_options={"include_usage": True})
               for p in prompts]
    stop = answers[0].text[5:8]
    stopped = null.chat("one", max_tokens=20, stop=stop)
    usages = [a.body["usage"] for a in answers + [stopped]] + [s[-2]["usage"] for s in streams]
    after = null.metrics()

    def grown(name):
        return after[name] - before[name]

    prompt = sum(u["prompt_tokens"] for u in usages)
    cached = sum(u["prompt_tokens_details"]["cached_tokens"] for u in usages)
    output = sum(u["completion_tokens"] for u in usages)
    label = '{model_name="null"}'
    assert grown("banyan_prompt_tokens_total") == prompt
    assert grown("vllm:prompt_tokens_total" + label) == prompt
    assert grown("vllm:prefix_cache_queries_total" + label) == prompt
    assert grown("banyan_cached_prompt_tokens_total") == cached
    assert grown("vllm:prefix_cache_hits_total" + label) == cached
    assert grown("banyan_missed_prompt_tokens_total") == prompt - cached
    assert grown("banyan_generated_tokens_total") == output
    assert grown("vllm:generation_tokens_total" + label) == output
    assert grown("banyan_hit_tokens_count") == len(usages)
    assert grown("banyan_hit_tokens_sum") == cached
    for histogram in ("queue", "prefill", "decode", "time_to_first_token", "end_to_end"):
        assert grown(f"banyan_{histogram}_seconds_count") == len(usages), histogram
    ends = sum(grown(f'banyan_requests_total{{finish_reason="{r}"}}') for r in ("stop", "length"))
    assert ends == len(usages)
    # What steps computed is what was not cached; the engine publishes it after its step.
    banyan.eventually(lambda: null.metric("banyan_computed_prompt_tokens_total") -
                      before["banyan_computed_prompt_tokens_total"] == prompt - cached,
                      "the computed tokens")


def test_the_states_of_pages_sum_to_the_pool(null):
    null.chat("fill some pages " * 20, max_tokens=30)
    banyan.eventually(null.is_idle, "idle")
    metrics = null.metrics()
    info = next(name for name in metrics if name.startswith("vllm:cache_config_info"))
    assert 'block_size="16"' in info
    pool = null.pool()
    pages = null.pages()
    assert set(pages) == {"free", "copying", "open", "private", "tree", "detached"}
    assert sum(pages.values()) == pool
    assert pages["tree"] > 0
    assert metrics["banyan_kv_usage_ratio"] == 0, "what is only cached can be evicted"
    assert metrics["banyan_kv_page_bytes"] * pool <= 1 << 20


def test_errors_are_counted_by_code(null):
    name = 'banyan_http_errors_total{code="invalid_request"}'
    before = null.metric(name)
    assert null.post("/v1/chat/completions", {"messages": []}).status_code == 400
    assert null.metric(name) == before + 1


def test_errors_that_no_handler_saw_are_counted_too(null):
    def count():
        found = re.search(r'banyan_http_errors_total\{code="not_found"\} (\d+)', null.get("/metrics").text)
        return int(found[1]) if found else 0
    before = count()
    assert null.get("/v1/nothing").status_code == 404
    assert count() == before + 1


def test_probes(null):
    assert null.get("/health").json() == {"status": "ok"}
    assert null.get("/ready").json() == {"status": "ready"}
    assert null.metric("banyan_ready") == 1
    assert null.get("/metrics").headers["Content-Type"].startswith("text/plain; version=0.0.4")


def test_one_log_line_for_every_finished_request(null):
    answer = null.chat("log me", max_tokens=4, ignore_eos=True)
    wanted = f"id={answer.body['id']} finish_reason=length prompt_tokens={answer.prompt} " \
             f"cached_tokens={answer.cached} output_tokens=4 "
    line = banyan.eventually(lambda: [l for l in null.stderr().splitlines() if wanted in l],
                             "the log line")
    assert len(line) == 1
    assert all(f"{part}_ms=" in line[0] for part in ("queue", "prefill", "decode"))
