#!/usr/bin/env python3
"""Compares a model's logits with llama.cpp's, at every position of twelve prompts.

usage: compare_llama_cpp.py --model MODEL.gguf --logits-dump BINARY [--threads 2]

Run by `./dev full` with a Python that has llama-cpp-python 0.3.36. Prompts become ids by llama.cpp, so that
only the network is compared. Both implementations read activations in int8 where weights are quantized, but
block them and add up in other orders; the bounds below are what that costs, and the top token must agree
wherever it leads by more than twice the bound of a single logit.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import llama_cpp
import numpy as np

STORY = ("Once upon a time, in a small village by the sea, there lived an old fisherman who had never caught a fish. "
         "Every morning he rowed out before the sun rose, and every evening he came home with an empty net. The other "
         "fishermen laughed at him, but the children loved him, for he told them stories of the deep: of cities of "
         "coral, of whales that sang in words, and of a fish as old as the moon. One day the youngest of the children "
         "asked")
MORE = (" him why he went out at all, since the sea gave him nothing. The old man put down the net that he was mending "
        "and looked at the water for a while. When I was as small as you, he said, my grandmother took me along the "
        "cliffs to a cave that can be entered only on the two lowest tides of the year. Inside, the walls were covered "
        "with drawings: boats with square sails, a lighthouse that nobody has ever built, and under them all one "
        "enormous fish with a lantern in its mouth. She told me that whoever drew it had seen it, and that it would be "
        "seen again by somebody patient. The children wanted to know whether the cave was still there. It was, he said, "
        "but a rock had fallen across the way, and no one had gone in for forty years. That evening Marta, the baker's "
        "daughter, copied the tide tables from the harbour office into her school book. Seventeen days later, before "
        "anyone in the village was awake, five of them walked along the beach with two ropes, a bicycle lamp and half "
        "a loaf of bread. The rock was larger than they had hoped. Behind it, however, the sea had washed out a gap "
        "just wide enough for the smallest, who was called Ilie and was afraid of nothing but geese. He crawled "
        "through with the lamp between his teeth. For a long time they heard only the waves. Then he shouted that the "
        "drawings were real, all of them, and that there was something else which the old man had not mentioned: "
        "beside the fish somebody had painted a rowing boat, and in it, quite clearly, an old man with five children. "
        "They did not talk much on the way home. The baker asked Marta why her shoes were full of sand, and she said "
        "that she had been reading. The next morning the fisherman found them sitting in his boat, wrapped in "
        "blankets, with the bread on their knees. He looked at them, then at the horizon, where the first light was "
        "turning the clouds from grey to pink, and without asking a single question he pushed the boat into the water, "
        "took the oars and began to row. Nobody on the pier waved, because nobody was there; only the harbour master's "
        "cat watched them leave. They passed the outer buoy, and the two black rocks that are called the sisters, and")
PROMPTS = [
    "The",
    "The capital of France is",
    "What is the capital of France? Answer in one sentence.",
    "Name three primes over 10: 11,",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return",
    "1, 2, 3, 4, 5, 6, 7, 8, 9,",
    "Die Hauptstadt von Deutschland ist",
    "\u4e2d\u56fd\u7684\u9996\u90fd\u662f \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "<html>\n  <head>\n    <title>",
    "Water boils at 100 degrees Celsius at sea level. " * 9 + "Water boils at",
    STORY,
    # Longer than these models' sliding windows. Prose: where a text repeats a pattern hundreds of times, single
    # logits of this size of model turn on the last bits of int8, in every implementation.
    STORY + MORE,
]
# By architecture: the rms over all logits, and the most that a single one may differ. What was measured is in
# docs/model.md.
BOUNDS = {"llama": (0.3, 2.4), "gemma3": (0.35, 3.4)}
LEAST_AGREEMENT = 0.9  # of all top tokens, however small their lead


def dump(binary, model, prompts, folder):
    """The engine's logits, [positions of all prompts, vocabulary], in the file that was written."""
    ids = folder / "prompts"
    ids.write_text("".join(" ".join(map(str, prompt)) + "\n" for prompt in prompts))
    subprocess.run([binary, model, ids, folder / "logits"], check=True)
    positions = sum(map(len, prompts))
    return np.memmap(folder / "logits", dtype=np.float32, mode="r").reshape(positions, -1)


def peer_logits(peer, prompt):
    """llama.cpp's logits, [positions, vocabulary]."""
    peer.reset()
    peer.eval(prompt)
    return peer.scores[:len(prompt)]


class Tally:
    def __init__(self, bound):
        self.bound = bound
        self.squares, self.count, self.worst, self.spread = 0.0, 0, 0.0, 0.0
        self.positions, self.agreed, self.decided, self.wrong = 0, 0, 0, []

    def add(self, name, ours, theirs):
        off = np.abs(ours.astype(np.float64) - theirs)
        self.squares += float((off ** 2).sum())
        self.count += off.size
        self.worst = max(self.worst, float(off.max()))
        self.spread += float(theirs.astype(np.float64).std(axis=1).sum()) * theirs.shape[1]
        self.positions += len(ours)
        self.agreed += int((ours.argmax(axis=1) == theirs.argmax(axis=1)).sum())
        ranked = np.partition(theirs, -2, axis=1)
        leads = ranked[:, -1] - ranked[:, -2]
        for at in np.flatnonzero(leads > 2 * self.bound):
            self.decided += 1
            if ours[at].argmax() != theirs[at].argmax():
                self.wrong.append(f"{name}, position {at}")

    def rms(self):
        return (self.squares / self.count) ** 0.5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--logits-dump", required=True)
    parser.add_argument("--threads", type=int, default=2, help="of llama.cpp; its idle ones spin")
    options = parser.parse_args()
    peer = llama_cpp.Llama(options.model, n_ctx=1024, n_batch=64, n_threads=options.threads,
                           n_threads_batch=options.threads, logits_all=True, verbose=False)
    architecture = peer.metadata["general.architecture"]
    rms, bound = BOUNDS[architecture]
    prompts = [peer.tokenize(text.encode(), add_bos=True, special=True) for text in PROMPTS]
    tally = Tally(bound)
    with tempfile.TemporaryDirectory() as folder:
        ours = dump(options.logits_dump, options.model, prompts, pathlib.Path(folder))
        done = 0
        for i, prompt in enumerate(prompts):
            theirs = peer_logits(peer, prompt)
            tally.add(f"prompt {i}", ours[done:done + len(prompt)], theirs)
            done += len(prompt)
    print(f"{architecture}: {len(prompts)} prompts, {done} positions, {tally.count} logits against llama-cpp-python "
          f"{llama_cpp.__version__}: rms {tally.rms():.4f} (bound {rms}), worst {tally.worst:.4f} (bound {bound}), where "
          f"a position's logits deviate by {tally.spread / tally.count:.2f}; {tally.agreed} of {tally.positions} top "
          f"tokens agree, {tally.decided - len(tally.wrong)} of the {tally.decided} that lead by over {2 * bound}")
    for place in tally.wrong:
        print(f"another top token: {place}")
    ok = (tally.rms() < rms and tally.worst < bound and not tally.wrong and tally.decided >= 10
          and tally.agreed >= LEAST_AGREEMENT * tally.positions)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
