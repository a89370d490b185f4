#!/usr/bin/env python3
"""Checks what the compiler does not: formatting, which room may include what, and leftovers.

Exit status 1 and one line per finding: file:line: what is wrong.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The headers of a room that other rooms may include; None: all of them.
NARROW = {
    "base": None,
    "http": {"server.h", "client.h"},
    "text": {"codec.h", "stream.h"},
    "radix": {"prefix_cache.h"},
    "scheduler": {"scheduler.h", "inbox.h", "token_stream.h", "policies/policy.h"},
    "model": {"model.h", "batch.h", "kv_pool.h"},
    "kernels": {"backend.h", "bounds_bytes.h", "key_window.h", "kv_compaction.h", "page_choice.h", "kv_shape.h", "sampling.h", "tensor.h", "cpu/backend.h", "cpu/processors.h",
                "cpu/streaming_read.h", "cuda/backend.h"},
    "server": set(),
}
# The rooms that a room may include, itself aside; a pair names one header only.
ALLOWED = {
    "base": set(),
    "http": {"base"},
    "text": {"base"},
    "radix": {"base"},
    "scheduler": {"base", "radix", ("model", "batch.h")},
    "model": {"base", "kernels"},
    "kernels": set(),
    "server": {"base", "http", "text", "radix", "scheduler", "model", "kernels"},
    "loadtest": {"base", ("http", "client.h"), "radix", "scheduler", ("model", "batch.h")},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# kernels/ is free of every library; but the CUDA kernels' host execution has fibers of Boost.Context.
FOREIGN = {"kernels": re.compile(r"^\s*#\s*include\s+[<\"](absl|boost|spdlog|prometheus|nlohmann)/")}
FREE = "kernels/cuda/emulation/"


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
                         cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in out.splitlines() if (ROOT / name).exists()]


def include_problem(room, included):
    """Why a file of `room` may not include `included`, or None."""
    other, _, header = included.partition("/")
    if other == room or other not in NARROW or room not in ALLOWED:
        return None  # its own, a library's; and tests see everything
    if other not in ALLOWED[room] and (other, header) not in ALLOWED[room]:
        return f"{room}/ may not depend on {included}"
    if NARROW[other] is not None and header not in NARROW[other]:
        return f"{included} is not a narrow header of {other}/"
    return None


def check_sources(files):
    for path in files:
        name = path.relative_to(ROOT)
        room = name.parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = INCLUDE.match(line)
            problem = include_problem(room, include[1]) if include else None
            if problem:
                yield f"{name}:{number}: {problem}"
            if room in FOREIGN and FOREIGN[room].match(line) and not str(name).startswith(FREE):
                yield f"{name}:{number}: {room}/ depends on no library"
            if LEFTOVER.search(line):
                yield f"{name}:{number}: unfinished: {line.strip()}"


def check_format(files):
    result = subprocess.run(["clang-format", "--dry-run", "-Werror", *map(str, files)],
                            cwd=ROOT, capture_output=True, text=True)
    for line in result.stderr.splitlines():
        if "error:" in line:
            yield line.replace(f"{ROOT}/", "")


def main():
    sources = tracked("*.h", "*.cc", "*.cu", "*.cuh")
    findings = [*check_sources(sources), *check_format(sources)]
    print("\n".join(findings) if findings else f"lint: {len(sources)} files, nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
