"""Draws how the benchmarks of single parts grow with size: logarithmic both ways, linear growth beside."""
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = {"insert": "#1b6ca8", "split": "#7a3e9d", "evict": "#c2571a"}
LINES = {"wide": ":", "deep": "--", "mix": "-"}


def series(benchmarks, pattern):
    """Sorted (size, ns) of the benchmarks whose names match; the size is the pattern's group."""
    found = ((re.fullmatch(pattern, name), values["ns"]) for name, values in benchmarks.items())
    return sorted((int(match[1]), ns) for match, ns in found if match)


def line(axes, points, scale, label, **style):
    if points:
        axes.plot([size for size, _ in points], [ns * scale for _, ns in points], marker="o", markersize=3.5,
                  label=label, **style)


def linear_guide(axes, first, last, value):
    axes.plot([first, last], [value, value * last / first], color="0.75", linewidth=4, zorder=0, label="linear growth")


def finish(axes, title, x, y, target=None):
    axes.set(xscale="log", yscale="log", title=title, xlabel=x, ylabel=y)
    if target:
        axes.axhline(target[0], color="#2a7f3f", linewidth=1)
        axes.text(axes.get_xlim()[0] * 1.15, target[0] * 1.06, target[1], color="#2a7f3f", fontsize=8)
    axes.grid(which="major", color="0.9")
    axes.legend(fontsize=7.5, frameon=False)


def draw(benchmarks, path):
    figure, ((match, pages), (running, queued)) = plt.subplots(2, 2, figsize=(11, 8.2), constrained_layout=True)

    line(match, series(benchmarks, r"Match/(\d+)/16/1"), 1e-3, "the same prefix again", color="#1b6ca8")
    line(match, series(benchmarks, r"Match/(\d+)/16/64"), 1e-3, "64 prefixes in turn", color="#c2571a")
    sizes = [size for size, _ in series(benchmarks, r"Match/(\d+)/16/1")]
    if sizes:
        match.plot(sizes, [size * 1e-3 for size in sizes], color="#2a7f3f", linewidth=1, label="1 G tokens/s")
        linear_guide(match, sizes[0], sizes[-1], sizes[0] * 3e-4)
    finish(match, "Match, pin and release a cached prefix", "tokens", "µs")

    for operation, colour in COLOURS.items():
        for shape, dashes in LINES.items():
            line(pages, series(benchmarks, rf"{operation.title()}/{shape}/(\d+)"), 1e-3, f"{operation}, {shape}",
                 color=colour, linestyle=dashes)
    linear_guide(pages, 1000, 30_000, 0.03)
    finish(pages, "One page of the tree", "pages in the tree", "µs", (1, "1 µs"))

    line(running, series(benchmarks, r"Serve/mix/(\d+)/4096"), 1e-3, "4,096 queued", color="#1b6ca8")
    linear_guide(running, 16, 1024, 4)
    finish(running, "A step: Next and Complete, full pool", "running requests", "µs", (200, "200 µs"))

    # None is no point on a logarithmic axis.
    line(queued, [p for p in series(benchmarks, r"Serve/mix/256/(\d+)") if p[0] > 0], 1e-3, "256 running",
         color="#1b6ca8")
    linear_guide(queued, 256, 1024, 50)
    finish(queued, "A step: Next and Complete, full pool", "queued requests", "µs", (200, "200 µs"))

    figure.savefig(path, dpi=90)
