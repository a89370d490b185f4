#!/usr/bin/env python3
"""What ./dev gpu found on a device, into docs/gpu.md between its marks.

    gpu_page.py gpu.json docs/gpu.md
"""
import json
import pathlib
import sys

import marks

MARK = "<!-- measured: ./dev gpu -->"


class Report:
    def __init__(self, found):
        self.device, self.checks, self.failed = found["device"], found["checks"], found["failed"]
        self.measurements = found["measurements"]

    def of(self, step, *whats):
        return [one for one in self.measurements if one["step"] == step and one["what"] in whats]

    def roof(self, what, unit):
        """What PyTorch reached; None where it did not run."""
        return next((one[unit] for one in self.of("roof", what)), None)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share(value, whole):
    return f" ({value / whole:.0%})" if whole else ""


def table(head, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


def size(one):
    """What was computed, in words."""
    if one["what"] == "prefill":
        return f"prefill of {one['tokens']:,} tokens"
    if one["what"] == "shared":
        return f"decode, {one['sequences']} that share {one['keys']:,} keys"
    if "keys" in one:
        return f"decode, {one['sequences']} x {one['keys']:,} keys"
    return f"decode, {one['sequences']} x {one['context']:,} tokens"


def checks(report):
    failed = [one["step"] for one in report.checks if not one["passed"]]
    if failed:
        return f"Of {len(report.checks)} checks {len(failed)} **failed**: {', '.join(f'`{name}`' for name in failed)}."
    return f"All {len(report.checks)} checks passed."


def attention(report):
    bandwidth, products = report.roof("copy", "gb_per_second"), report.roof("product", "tflop_per_second")
    cells = {}
    for one in report.of("attention", "decode", "shared", "prefill"):
        rate, roof, unit = ((one["tflop_per_second"], products, "TFLOP/s") if one["what"] == "prefill" else
                            (one["gb_per_second"], bandwidth, "GB/s"))
        cells.setdefault(size(one), {})[one["format"]] = f"{number(rate)} {unit}{share(rate, roof)}"
    if not cells:
        return None
    formats = list(dict.fromkeys(name for row in cells.values() for name in row))
    text = "Attention of 32 heads of 128 numbers, 8 of them KV heads, by format of pages"
    if bandwidth and products:
        text += (f"; in brackets the share of what PyTorch reaches there: {number(bandwidth)} GB/s in a copy, "
                 f"{number(products)} TFLOP/s in a product in bf16")
    rows = [[label, *(row.get(name, "") for name in formats)] for label, row in cells.items()]
    return text + ".\n\n" + table(["", *formats], rows)


def model(report, shape):
    beside = {size(one): one["per_second"] for one in report.of(f"torch-{shape}", "prefill", "decode")}
    own = report.of(shape, "prefill", "decode")
    if not own:
        return None
    rows = []
    for one in own:
        other = beside.get(size(one))
        rows.append([size(one), number(one["per_second"]), number(other) if other else "",
                     f"{one['per_second'] / other:.2f}" if other else ""])
    parts = [f"`{shape}`, tokens a second:", table(["", "Banyan", "PyTorch", "ratio"], rows)]
    bandwidth = report.roof("copy", "gb_per_second")
    alone = min((one["step_ms"] for one in own if one.get("sequences") == 1), default=None)
    for load in report.of(shape, "load"):
        if bandwidth and alone:
            read = load["weight_bytes"] / alone / 1e6
            parts.append(f"A sequence alone reads its weights at {number(read)} GB/s{share(read, bandwidth)}.")
    cached = [[f"{one['tokens']:,}", number(one["uncached_ms"]), number(one["cached_ms"])]
              for one in report.of(shape, "cached")]
    if cached:
        parts.append(table(["tokens of the prompt", "ms to the first token", "all but one cached"], cached))
    return "\n\n".join(parts)


def replay(report):
    rows = [[one["prefix_caching"], f"{one['requests']:,}", f"{one['hit_rate']:.0%}", number(one["per_second"]),
             number(one["ttft_p50_ms"]), number(one["ttft_p99_ms"])] for one in report.of("replay", "replay")]
    head = ["prefix caching", "requests", "tokens cached", "tokens/s", "ms to the first token, median", "99th percentile"]
    return rows and ("32 conversations at once, made up by `banyan-loadtest`, with a model of SmolLM2's shape:\n\n" +
                     table(head, rows))


def text(report):
    shapes = dict.fromkeys(one["step"] for one in report.measurements if one["what"] == "load")
    parts = [f"Measured on: {(report.device or 'a device that nvidia-smi did not name').strip()}. {checks(report)}",
             attention(report), *(model(report, shape) for shape in shapes), replay(report)]
    missing = ", ".join(f"`{one['step']}` ({one['why']})" for one in report.failed)
    if missing:
        parts.append(f"Did not come off: {missing}.")
    return "\n\n".join(part for part in parts if part)


def main():
    found, page = map(pathlib.Path, sys.argv[1:])
    marks.put(page, MARK, text(Report(json.loads(found.read_text()))))


if __name__ == "__main__":
    main()
