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


def linear_guide(axes, points):
    """What growth in proportion looks like, from the first point on."""
    if not points:  # not measured this time
        return
    (first, value), (last, _) = points[0], points[-1]
    axes.plot([first, last], [value * 1e-3, value * 1e-3 * last / first], color="0.8", linewidth=4, zorder=0,
              label="linear growth")


def finish(axes, title, x, limits, target=None, columns=1):
    axes.set(xscale="log", yscale="log", title=title, xlabel=x, ylabel="µs", ylim=limits)
    if target:
        axes.axhline(target, color="#2a7f3f", linewidth=1, label=f"{target} µs")
    axes.grid(which="major", color="0.9")
    axes.legend(fontsize=7.5, frameon=False, ncols=columns, loc="upper left", columnspacing=1, handlelength=1.8)


def draw_match(benchmarks, axes):
    points = series(benchmarks, r"Match/(\d+)/16/1")
    line(axes, points, 1e-3, "the same prefix again", color="#1b6ca8")
    line(axes, series(benchmarks, r"Match/(\d+)/16/64"), 1e-3, "64 prefixes in turn", color="#c2571a")
    axes.plot([size for size, _ in points], [size * 1e-3 for size, _ in points], color="#2a7f3f", linewidth=1,
              label="1 G tokens/s")
    linear_guide(axes, points)
    finish(axes, "Match, pin and release a cached prefix", "tokens", (0.1, 300))


def draw_pages(benchmarks, axes):
    for operation, colour in COLOURS.items():
        for shape, dashes in LINES.items():
            line(axes, series(benchmarks, rf"{operation.title()}/{shape}/(\d+)"), 1e-3, f"{operation}, {shape}",
                 color=colour, linestyle=dashes)
    linear_guide(axes, series(benchmarks, r"Evict/mix/(\d+)"))
    finish(axes, "One page of the tree", "pages in the tree", (0.01, 100), 1, 4)


def draw_steps(benchmarks, running, queued):
    title = "A step: Next and Complete, full pool"
    points = series(benchmarks, r"Serve/mix/(\d+)/4096")
    line(running, points, 1e-3, "4,096 queued", color="#1b6ca8")
    linear_guide(running, points)
    finish(running, title, "running requests", (1, 5000), 200)
    # None queued is no point on a logarithmic axis.
    points = [point for point in series(benchmarks, r"Serve/mix/256/(\d+)") if point[0] > 0]
    line(queued, points, 1e-3, "256 running", color="#1b6ca8")
    linear_guide(queued, points)
    finish(queued, title, "queued requests", (10, 5000), 200)


def draw(benchmarks, path):
    figure, ((match, pages), (running, queued)) = plt.subplots(2, 2, figsize=(11, 8.2), constrained_layout=True)
    draw_match(benchmarks, match)
    draw_pages(benchmarks, pages)
    draw_steps(benchmarks, running, queued)
    figure.savefig(path, dpi=80)
