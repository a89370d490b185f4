#!/usr/bin/env python3
"""What every CUDA kernel takes of a multiprocessor, by what ptxas said when it was compiled.

    resources.py [--write docs/gpu.md] BUILD...     (the folders of builds with BANYAN_CUDA)

Exit status 1, and a line for each: a kernel that spills other than spills.txt says, one that takes more shared memory than
a block may have, one of whose launch nothing is known here. --write puts the table into a page, between its marks.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

import marks

SPILLS = pathlib.Path(__file__).with_name("spills.txt")
MARK = "<!-- resources: ./dev cuda -->"
FORMATS = ["f16", "bf16", "fp8", "int8", "int4"]

# Of a multiprocessor, by compute capability: warps, blocks, bytes of shared memory; and of a block, bytes that it may
# ask for. CUDA C++ Programming Guide 13.0, "Compute Capabilities". Each has 65,536 registers, given to a warp in units of
# 256, and each block takes 1 KiB of shared memory that no kernel sees.
LIMITS = {
    "sm_80": (64, 32, 164 << 10, 163 << 10),
    "sm_89": (48, 24, 100 << 10, 99 << 10),
    "sm_90": (64, 32, 228 << 10, 227 << 10),
    "sm_100": (64, 32, 228 << 10, 227 << 10),
}
REGISTERS, REGISTER_UNIT, RESERVED = 65_536, 256, 1 << 10


def attend(arguments):
    """AttentionMemory::Bytes of a tile of 64 queries (attention_memory.cuh)."""
    page_format, dims = arguments[0], int(arguments[1])
    keys, row = 16 if dims > 128 else 32, (dims + 8) * 2
    places = 256 * 8 * (2 if page_format in ("int8", "int4") else 1)
    return 2 * (2 * keys * row + 2 * keys * 4) + places + 64 * row


# Of each kernel: threads of a block, and the most bytes of shared memory that its launch asks for.
LAUNCHES = {
    "AttendKernel": (128, attend),
    "ChoosePagesKernel": (256, None),
    "CopySlotsKernel": (64, None),
    "DequantizeKernel": (256, None),
    "EmbedKernel": (128, None),
    "GateKernel": (256, None),
    "KeyBoundsKernel": (32, None),
    "LogProbabilitiesKernel": (512, None),
    "MergeKernel": (128, None),
    "MoveSurvivorsKernel": (256, None),
    "MultiplyBlocksKernel": (128, None),
    "NoteSlotsKernel": (128, None),
    "RmsNormAddKernel": (256, None),
    "RmsNormHeadsKernel": (128, None),
    "RmsNormKernel": (256, None),
    "RopeAnglesKernel": (128, None),
    "RopeAndStoreKernel": (128, None),
    "SampleKernel": (512, None),
    "ScorePagesKernel": (256, None),
    "ScoreSlotsKernel": (128, None),
    "SealPagesKernel": (128, None),
    "StagePagesKernel": (128, None),
    "SurviveKernel": (256, None),
    "TurnForSinksKernel": (128, None),
    "WeighSlotsKernel": (128, None),
}

Use = collections.namedtuple("Use", "registers spill static dynamic threads occupancy")


def read_logs(folders):
    """{(architecture, mangled name): (registers, bytes spilled, bytes of static shared memory)}"""
    uses = {}
    for folder in folders:
        logs = list(folder.glob("kernels/cuda/CMakeFiles/banyan_cuda_kernels.dir/*.cu.o.log"))
        if not logs:
            sys.exit(f"resources.py: {folder} has no logs of kernels")
        for log in logs:
            key = spill = None
            for line in log.read_text().splitlines():
                if found := re.search(r"Compiling entry function '(\w+)' for '(sm_\d+)a?'", line):
                    key, spill = (found[2], found[1]), 0
                elif found := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
                    spill = max(int(found[1]), int(found[2]))
                elif found := re.search(r"Used (\d+) registers", line):
                    shared = re.search(r"(\d+) bytes smem", line)
                    uses[key] = (int(found[1]), spill, int(shared[1]) if shared else 0)
    return uses


def demangled(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines(), strict=True))


def short(name):
    """'AttendKernel<f16, 8, 1>' of the whole signature."""
    name = name.replace("(anonymous namespace)::", "")
    name = re.sub(r"\((?:\w+::)*KvFormat\)(\d)", lambda found: FORMATS[int(found[1])], name)
    name = re.sub(r"\((?:\w+::)*RopePairs\)([01])", lambda found: ("neighbours", "halves")[int(found[1])], name)
    name = re.sub(r"\((?:int|bool|unsigned int|(?:\w+::)+\w+)\)(?=\d)", "", name)  # other enumerations by number
    found = re.search(r"(\w+Kernel)(<[^()]*>)?\(", name)
    if not found:
        return name
    return found[1] + re.sub(r"\w+::", "", found[2] or "")


def occupancy(architecture, threads, registers, shared):
    """The share of a multiprocessor's warps that can be resident."""
    most_warps, most_blocks, shared_bytes, _ = LIMITS[architecture]
    warps = -(-threads // 32)
    of_warp = -(-registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
    blocks = min(most_blocks, most_warps // warps, REGISTERS // of_warp // warps, shared_bytes // (shared + RESERVED))
    return blocks * warps / most_warps


def listed_spills():
    lines = [line.split() for line in SPILLS.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {(architecture, " ".join(name)): int(size) for architecture, size, *name in lines}


def examine(uses, problems):
    """{kernel: {architecture: {instantiation: Use}}}"""
    names = demangled(sorted({name for _, name in uses}))
    listed = listed_spills()
    kernels = collections.defaultdict(lambda: collections.defaultdict(dict))
    for (architecture, mangled), (registers, spill, static) in sorted(uses.items()):
        name = short(names[mangled])
        kernel = name.split("<")[0]
        if kernel not in LAUNCHES:
            problems.append(f"{name}: how it is launched is not known to resources.py")
            continue
        threads, dynamic_of = LAUNCHES[kernel]
        dynamic = dynamic_of([part.strip() for part in name[len(kernel) + 1:-1].split(",")]) if dynamic_of else 0
        if static + dynamic > LIMITS[architecture][3]:
            problems.append(f"{architecture} {name}: {static + dynamic} bytes of shared memory, which no block may have")
            continue
        expected = listed.pop((architecture, name), 0)
        if spill != expected:
            problems.append(f"{architecture} {name}: spills {spill} bytes, spills.txt says {expected}")
        share = occupancy(architecture, threads, registers, static + dynamic)
        kernels[kernel][architecture][name] = Use(registers, spill, static, dynamic, threads, share)
    compiled = {architecture for architecture, _ in uses}
    problems += [f"{architecture} {name}: spills.txt lists it, and it was not compiled" for architecture, name in listed
                 if architecture in compiled]
    return kernels


def between(values, text="{}"):
    low, high = min(values), max(values)
    return text.format(low) if low == high else f"{text.format(low)}–{text.format(high)}"


def table(kernels, architectures):
    lines = ["| kernel | variants | threads | shared memory | " + " | ".join(architectures) + " |",
             "|---|---|---|---|" + "---|" * len(architectures)]
    for kernel, by_architecture in sorted(kernels.items()):
        first = list(next(iter(by_architecture.values())).values())
        cells = [f"`{kernel}`", str(len(first)), str(first[0].threads),
                 between([use.static + use.dynamic for use in first], "{:,}")]
        for architecture in architectures:
            uses = list(by_architecture[architecture].values())
            cells.append(between([use.registers for use in uses]) + " regs, " +
                         between([use.occupancy for use in uses], "{:.0%}"))
        lines.append("| " + " | ".join(cells) + " |")
    spills = [(architecture, name, use.spill) for by_architecture in kernels.values()
              for architecture, uses in by_architecture.items() for name, use in uses.items() if use.spill]
    lines.append("")
    lines.append("Spills: " + (", ".join(f"`{name}` {size} bytes on {architecture}" for architecture, name, size in
                                         sorted(spills)) or "none") + ".")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("builds", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    problems = []
    kernels = examine(read_logs(options.builds), problems)
    for missing in sorted(set(LAUNCHES) - set(kernels)):
        problems.append(f"{missing}: resources.py knows it, but it was not compiled")
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    found = {architecture for by_architecture in kernels.values() for architecture in by_architecture}
    text = table(kernels, [architecture for architecture in LIMITS if architecture in found])
    print(text)
    if options.write:
        marks.put(options.write, MARK, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
