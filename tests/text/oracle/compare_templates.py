#!/usr/bin/env python3
"""Writes what jinja2 makes of chat templates and of conversations of many kinds, for template_oracle_test.

    pip install -r ../../requirements.txt
    ./compare_templates.py FOLDER... > build/template_oracle.json
    BANYAN_TEMPLATE_ORACLE=build/template_oracle.json build/release/tests/text/template_oracle_test

Every *.jinja file of the folders is rendered with every conversation.
"""

import argparse
import json
import pathlib
from importlib.metadata import version

import chat_environment
import marked

SPECIALS = {"bos_token": "<bos>", "eos_token": "</s>"}

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a place, \"now\" & here <b>.",
    "parameters": {"type": "object", "required": ["location"], "properties": {
        "location": {"type": "string", "description": "A city,\nwith country"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "minimum": 1, "maximum": 18446744073709551615},
        "detail": {"type": ["string", "null"]}}}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Sucht etwas – überall",
    "parameters": {"type": "object", "required": [], "properties": {
        "query": {"type": "object", "properties": {
            "words": {"type": "array", "items": {"type": "string"}},
            "weights": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "any": {"anyOf": [{"type": "string"}, {"type": "number"}]}}, "required": ["words"]},
        "exact": {"type": "boolean", "default": False}}},
    "return": {"type": "object", "properties": {"hits": {"type": "integer"}}}}}
EMPTY = {"type": "function", "function": {"name": "stop", "description": "", "parameters": {
    "type": "object", "properties": {}}}}
SIMPLE = {"type": "function", "function": {
    "name": "simple", "description": "Does little.\n", "parameters": {"type": "object", "required": ["a", "list"], "properties": {
        "a": {"type": "string", "description": "The <first>"}, "n": {"type": "number"}, "b": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "integer"}, "description": "Some"},
        "either": {"type": ["integer", "string"]}}}}}
BARE = {"type": "function", "function": {"name": "noop"}}


def call(name, arguments, id="call00001"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def user(content):
    return {"role": "user", "content": content}


def system(content):
    return {"role": "system", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content} | more


def tool(content, **more):
    return {"role": "tool", "content": content} | more


HELLO = user("What is the capital of France?")
ARGUMENTS = {"location": "Paris, France", "unit": None, "days": 3, "exact": True, "ratio": 0.5, "big": 1e22,
             "nested": {"a": [1, 2.0, "drei", None, {}], "b": {"c": []}}}


def plain():
    """Name, messages, and what else."""
    yield "one", [HELLO]
    yield "system", [system("Be brief."), HELLO]
    yield "turns", [HELLO, assistant("Paris."), user("And of  Italy?\n"), assistant("  Rome.  "), user("Thanks")]
    yield "system and turns", [system(" Be\nbrief. "), user("a"), assistant("b"), user("c"), assistant("d"), user("e")]
    yield "ends with the assistant", [HELLO, assistant("It is")]
    yield "two of the user", [user("a"), user("b")]
    yield "two of the assistant", [user("a"), assistant("b"), assistant("c"), user("d")]
    yield "assistant first", [assistant("Hello!"), user("a")]
    yield "late system", [user("a"), assistant("b"), system("late"), user("c")]
    yield "two systems", [system("a"), system("b"), user("c")]
    yield "system alone", [system("a")]
    yield "nothing", []
    yield "developer", [{"role": "developer", "content": "You obey."}, user("a")]
    yield "unknown role", [{"role": "narrator", "content": "Once upon a time"}, user("a")]
    yield "no role", [{"content": "a"}]
    yield "no content", [{"role": "user"}]
    yield "null content", [user(None)]
    yield "empty content", [system(""), user(""), assistant(""), user("")]
    yield "white space", [user("\n\n  lead"), assistant("trail \t\n\n"), user(" \u3000\u2003x\u00a0")]
    yield "unicode", [system("Ünïcödé"), user("日本語 👍🏽 \u0301 مرحبا"), assistant("ßΣΑΣ ǅ İ"), user("\u200b\ufeff")]
    yield "like the template", [system("userassistantsystem"), user("nameroletypefunction"), assistant("toolscontent")]
    yield "escapes", [user("a\"b\\c\td\re\x00f\x7fg</s><bos>'h' {{ i }} {% j %} &<>")]
    yield "control tokens", [user("<|im_end|>\n<|im_start|>system\nx<|eot_id|><end_of_turn>[/INST]</think><think>")]
    yield "number content", [user(12)]
    yield "extra keys", [user("a") | {"name": "Ann", "weight": 1.5, "x": [1, {"y": None}]}, assistant("b", prefix=True)]


def parts():
    def text(t):
        return {"type": "text", "text": t}
    yield "parts", [user([text("a"), text(" b\n")]), assistant([text("c")]), user([text("d")])]
    yield "system of parts", [system([text("Be "), text("brief.")]), user("a")]
    yield "image", [user([{"type": "image"}, text("What is it?")])]
    yield "image with a place", [user([text("See"), {"type": "image_url", "image_url": {"url": "http://x/y.png"}}])]
    yield "video and audio", [user([{"type": "video"}, {"type": "audio", "audio": "z"}, text("?")])]
    yield "strange part", [user([{"type": "smell"}, "bare"])]
    yield "no parts", [user([])]
    yield "thinking part", [user("a"), assistant([{"type": "thinking", "thinking": "hm"}, text("b")]), user("c")]
    yield "blocks", [user("a"), assistant({"blocks": [{"type": "thoughts", "text": "t"}, {"type": "response", "text": "r"}]}),
                     user("b")]


def tools():
    asked = user("How is the weather in Paris?")
    result = {"temperature": 21.5, "sky": "clear", "ünï": ["x", None, True]}
    for form, arguments in (("a mapping", ARGUMENTS), ("a string", json.dumps(ARGUMENTS)), ("nothing", {}),
                            ("an empty string", "")):
        yield f"called with {form}", [asked, assistant(None, tool_calls=[call("get_weather", arguments)]),
                                      tool(json.dumps(result), tool_call_id="call00001", name="get_weather"),
                                      assistant("It is 21.5 degrees."), user("Thanks")]
    yield "call without content", [asked, {"role": "assistant", "tool_calls": [call("get_weather", ARGUMENTS)]},
                                   tool("clear", tool_call_id="call00001", name="get_weather")]
    yield "call with content", [system("Use tools."), asked,
                                assistant("Let me see.", tool_calls=[call("get_weather", {"location": "Paris"})]),
                                tool("clear", tool_call_id="call00001", name="get_weather")]
    yield "two calls", [asked, assistant("", tool_calls=[call("get_weather", {"location": "Paris"}, "call00001"),
                                                         call("search", {"query": {"words": ["a", "b"]}}, "call00002")]),
                        tool("clear", tool_call_id="call00001", name="get_weather"),
                        tool("[]", tool_call_id="call00002", name="search"), assistant("Well."), user("And now?")]
    yield "call last", [asked, assistant("", tool_calls=[call("get_weather", {"location": "Paris"})])]
    yield "call thought about", [asked, assistant("", reasoning_content="I need\nthe weather.", reasoning="I need",
                                                  thinking="I need", tool_calls=[call("get_weather", {"location": "Paris"})]),
                                 tool("clear", tool_call_id="call00001", name="get_weather")]
    yield "flat call", [asked, assistant("", tool_calls=[{"name": "get_weather", "arguments": {"location": "Paris"}}]),
                        tool("clear")]
    yield "result is a mapping", [asked, assistant("", tool_calls=[call("get_weather", {"location": "Paris"})]),
                                  tool(result, tool_call_id="call00001", name="get_weather")]
    yield "result of parts", [asked, assistant("", tool_calls=[call("get_weather", {"location": "Paris"})]),
                              tool([{"type": "text", "text": "clear"}], tool_call_id="call00001", name="get_weather")]
    yield "result alone", [asked, tool("clear")]
    yield "no calls", [asked, assistant("No.", tool_calls=[]), user("b")]
    yield "null calls", [asked, assistant("No.", tool_calls=None), user("b")]


def reasoning():
    yield "reasoned", [user("a"), assistant("b", reasoning_content="hm\n"), user("c")]
    yield "reasoned last", [user("a"), assistant("b", reasoning_content="hm", reasoning="hm", thinking="hm")]
    yield "reasoned in the content", [user("a"), assistant("<think>\nhm\n</think>\n\nb"), user("c"), assistant("<think>x</think>y")]
    yield "other marks", [user("a"), assistant("[THINK]hm[/THINK]b"), user("c"), assistant("<thinking>x</thinking>y")]
    yield "empty reasoning", [user("a"), assistant("b", reasoning_content=""), user("c")]
    yield "switch in the text", [system("Be brief. /no_think"), user("a /think"), assistant("b"), user("c /no_think")]


def conversations():
    def case(name, messages, **more):
        return {"name": name, "messages": messages, "tools": None, "add_generation_prompt": True, "arguments": {}} | more

    for name, messages in (*plain(), *parts(), *tools(), *reasoning()):
        yield case(name, messages)
    for name, messages in (*plain(), *tools()):
        yield case(f"{name}; with tools", messages, tools=[WEATHER, SEARCH, EMPTY])
    for name, messages in (*plain(), *parts(), *tools()):
        yield case(f"{name}; with a simple tool", messages, tools=[SIMPLE], arguments={
            "functions": json.dumps([SIMPLE]), "datetime": "now"})
    for name, messages in plain():
        yield case(f"{name}; without a prompt", messages, add_generation_prompt=False)
    for on in (True, False):
        for name, messages in reasoning():
            yield case(f"{name}; thinking {on}", messages, arguments={"enable_thinking": on, "thinking": on})
    for name, messages in (*reasoning(), *tools()):
        yield case(f"{name}; with tools, without thinking, without a prompt", messages, tools=[WEATHER],
                   arguments={"enable_thinking": False, "thinking": False}, add_generation_prompt=False)
    talk = [system("Be brief."), HELLO, assistant("Paris.", reasoning_content="hm"), user("b")]
    yield case("bare tool", talk, tools=[BARE])
    yield case("flat tool", talk, tools=[WEATHER["function"]])
    yield case("tools of a string", talk, arguments={"tools_in_user_message": False, "builtin_tools": ["web_search", "python"]})
    yield case("documents", talk, arguments={"documents": [{"title": "T", "text": "x\ny", "doc_id": 1},
                                                           {"title": "Ü", "text": "z", "contents": "c"}]})
    yield case("an empty list of documents", talk, arguments={"documents": []})
    for effort in ("low", "medium", "high", "max", "none"):
        yield case(f"effort {effort}", talk, arguments={"reasoning_effort": effort, "thinking_effort": effort,
                                                        "thinking_mode": effort, "reasoning_mode": effort})
    yield case("many arguments", talk, tools=[SEARCH], arguments={
        "date_string": "1 Apr 2025", "custom_tools": [WEATHER], "keep_past_thinking": True, "preserve_thinking": True,
        "model_identity": "You are Test.", "controls": {"length": "short"}, "citations": "fast", "safety_mode": "strict",
        "clear_thinking": False, "reasoning_strength": "low", "continue_final_message": True, "truncate_history_thinking": False,
        "json_schema": {"type": "object"}, "response_format": {"type": "json_object"}, "tool_choice": "required",
        "skip_think": True, "thinking_budget": 512, "add_vision_id": True, "citation_options": "ENABLED", "available_tools": [WEATHER],
        "xml_tools": [WEATHER], "python_tools": ["x"], "deliberation": True, "tool_capabilities": True, "functions": [WEATHER]})


def result(template, case):
    """With "origins" where they are known: runs that alternate, the first being the template's."""
    def variables(change):
        return SPECIALS | {"documents": None} | change(case["arguments"]) | {
            "messages": change(case["messages"]), "tools": change(case["tools"]),
            "add_generation_prompt": case["add_generation_prompt"]}
    rendered = chat_environment.render(template, variables(lambda value: value))
    if "text" in rendered:
        shown = chat_environment.render(template, variables(marked.mark))
        runs = marked.origins(shown["text"], rendered["text"]) if "text" in shown else None
        if runs is not None:
            rendered["origins"] = runs
    return rendered


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    env = chat_environment.environment()
    cases = list(conversations())
    templates = []
    for path in sorted(path for folder in args.folders for path in folder.glob("*.jinja")):
        text = path.read_text(encoding="utf-8")
        row = {"name": path.name, "text": text}
        try:
            template = env.from_string(text)
        except Exception as error:
            row["failed"] = f"{type(error).__name__}: {error}"
        else:
            row["results"] = [result(template, case) for case in cases]
        templates.append(row)
    print(json.dumps({
        "made_by": "tests/text/oracle/compare_templates.py", "versions": {"jinja2": version("jinja2")},
        "now": int(chat_environment.NOW.timestamp()), "specials": SPECIALS, "conversations": cases, "templates": templates}))


if __name__ == "__main__":
    main()
