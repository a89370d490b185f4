#!/usr/bin/env python3
"""Plants defects in the tree and the scheduler, one line each, and has the simulator find them.

Each defect of defects.toml replaces one line of one source file, which must be there exactly once, so that the table cannot
rot. That file alone is compiled and linked with the simulator, which runs seed after seed until one fails. Prints a table:
defect, seed, what was found. Exit status 1 when a defect survives, or when its line is gone.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAILED = re.compile(r"^seed (\d+) failed at tick \d+: (.*)$", re.MULTILINE)
CHECK = re.compile(r"^\S*?([a-z_]+\.(?:cc|h)):\d+: (CHECK failed: .*)$", re.MULTILINE)


class Builder:
    """The commands that compile one source of the product, and link the simulator."""

    def __init__(self, build):
        self.build = build
        out = subprocess.run(["ninja", "-C", build, "-t", "commands", "banyan_sim"], check=True, capture_output=True,
                             text=True).stdout.splitlines()
        self.compile_of = {}
        for line in out:
            words = shlex.split(line) if " -c " in line else []
            if words:
                self.compile_of[os.path.relpath(words[-1], ROOT)] = words
        self.link = shlex.split(out[-1].replace(": && ", "").replace(" && :", ""))

    def make(self, file, text, folder):
        """The simulator with `text` in the place of `file`."""
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / pathlib.Path(file).name
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        words = list(self.compile_of[file])
        drop = words.index("-MD")  # dependencies are of no use here
        del words[drop:drop + 5]
        words[words.index("-o") + 1] = str(source) + ".o"
        words[-1] = str(source)
        words = ["-O1" if word == "-O3" else word for word in words if word != "-Werror"]
        subprocess.run(words, cwd=self.build, check=True, capture_output=True, text=True)
        words = list(self.link)
        binary = folder / "banyan_sim"
        words[words.index("-o") + 1] = str(binary)
        # Before the libraries, so that theirs is not looked for.
        first = next(i for i, word in enumerate(words) if word.endswith(".a"))
        words.insert(first, str(source) + ".o")
        subprocess.run(words, cwd=self.build, check=True, capture_output=True, text=True)
        return binary


def plant(defect):
    """The text of the file with its defect."""
    lines = (ROOT / defect["file"]).read_text().splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.strip() == defect["line"]]
    if len(places) != 1:
        raise LookupError(f"its line is {len(places)} times in {defect['file']}: {defect['line']}")
    indent = lines[places[0]][:len(lines[places[0]]) - len(lines[places[0]].lstrip())]
    lines[places[0]] = indent + defect["instead"] + "\n"
    return "".join(lines)


def hunt(builder, defect, seeds):
    """(seed, what was found), or (None, why not)."""
    try:
        text = plant(defect)
        folder = pathlib.Path(builder.build).resolve() / "defects" / re.sub(r"\W+", "_", defect["name"])
        binary = builder.make(defect["file"], text, folder)
        run = subprocess.run([binary, "1", str(seeds)], capture_output=True, text=True)
    except LookupError as problem:
        return None, str(problem)
    except subprocess.CalledProcessError as problem:
        return None, "does not compile: " + problem.stderr.strip().splitlines()[0]
    failed = FAILED.search(run.stderr)
    if run.returncode == 0 or not failed:
        return None, f"survives {seeds} seeds"
    check = CHECK.search(run.stderr)
    return int(failed[1]), f"{check[1]}: {check[2]}" if check else failed[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a release build folder that has banyan_sim")
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--table", default=str(pathlib.Path(__file__).with_name("defects.toml")))
    parser.add_argument("name", nargs="*", help="only these")
    args = parser.parse_args()
    with open(args.table, "rb") as table:
        defects = [d for d in tomllib.load(table)["defect"] if not args.name or d["name"] in args.name]
    builder = Builder(args.build)
    survivors = 0
    print("| defect | file | seed | found |\n|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        hunts = pool.map(lambda defect: hunt(builder, defect, args.seeds), defects)
        for defect, (seed, found) in zip(defects, hunts):
            survivors += seed is None
            print(f"| {defect['name']} | `{defect['file']}` | {seed or '-'} | {found} |", flush=True)
    if survivors:
        sys.exit(f"{survivors} of {len(defects)} defects were not found")


if __name__ == "__main__":
    main()
