"""loadtest/replay.py against one server or two, and how much of its prompts a cache can give at all."""
import json
import pathlib
import subprocess
import sys
import tempfile

from server import note

HERE = pathlib.Path(__file__).resolve().parent


class Seen:
    """Every sequence of tokens that was there, as a trie."""

    def __init__(self):
        self.root, self.tokens = {}, 0

    def common(self, tokens):
        """How many leading tokens of `tokens` were there before."""
        at = self.root
        for length, token in enumerate(tokens):
            if (at := at.get(token)) is None:
                return length
        return len(tokens)

    def add(self, tokens):
        at = self.root
        for token in tokens:
            if token not in at:
                at[token] = {}
                self.tokens += 1
            at = at[token]


def ideal(bodies, tokens_of, seen):
    """(prompt tokens, those of them that a cache without bounds gives), of chat requests in the order in which they
    were sent. Of each prompt it has what it shares with anything before, its last token excepted, which is always
    computed. A prompt that is being computed counts as there: others can wait for it. An answer that comes back
    is there without its last token, which nothing has attended to."""
    prompts = cached = 0
    for body in bodies:
        messages = body["messages"]
        if len(messages) > 2 and messages[-2]["role"] == "assistant":
            asked = tokens_of(messages[:-2])
            seen.add(tokens_of(messages[:-1])[:len(asked) + body["max_tokens"] - 1])
        tokens = tokens_of(messages)
        cached += min(seen.common(tokens), len(tokens) - 1)
        prompts += len(tokens)
        seen.add(tokens)
    return prompts, cached


def run(url, model, seed, works=None):
    """What replay.py prints, and the bodies that it sent."""
    with tempfile.TemporaryDirectory() as folder:
        bodies = pathlib.Path(folder, "bodies.json")
        command = [sys.executable, HERE / "recording.py", bodies, HERE.parents[1] / "loadtest/replay.py", "--url", url,
                   "--model", model, "--seed", str(seed), *(["--work", works] if works else [])]
        result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(result.stdout), json.loads(bodies.read_text())


def replay(targets, seed, tokens_of):
    """`targets`: {name: (url, model)}. `tokens_of` is asked about the prompts of all of them: the model is the
    same."""
    out = {}
    for name, (url, model) in targets.items():
        note(f"  replaying against {name}")
        result, bodies = run(url, model, seed)
        seen = Seen()
        for work in result.values():
            sent, bodies = bodies[:work["requests"]], bodies[work["requests"]:]
            prompts, cached = ideal(sent, tokens_of, seen)
            work["ideal_hit_rate"] = round(cached / prompts, 4)
            if work["hit_rate"] is not None:
                work["hit_rate_of_ideal"] = round(work["hit_rate"] / work["ideal_hit_rate"], 4)
        for work, values in result.items():
            note(f"    {work}: {values['wall_s']} s, from the cache {values['hit_rate']} of "
                 f"{values['ideal_hit_rate']}")
        out[name] = result
    if "peer" in out:
        out["times_quicker"] = {work: round(out["peer"][work]["wall_s"] / out["banyan"][work]["wall_s"], 2)
                                for work in out["banyan"]}
    return out
