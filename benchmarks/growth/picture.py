"""Draw how everything grows, six panels, logarithmic where numbers differ much."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]  # by label: x and y
MARKS = ("o-", "s--", "^:", "d-.")
FEW = 5  # values on a horizontal axis that are labelled one by one
WIDE = 10  # ratio of heights from which on an axis is logarithmic


def draw(sizes: Sequence[Mapping[str, Any]], depths: Mapping[str, Any], path: Path) -> None:
    """Write the picture as PNG.

    Args:
        sizes: the figures of each collection, ascending; see `sizes.measure`.
        depths: the times by candidates and by words; see `depths.measure`.
        path: of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    for panel, (title, across, up, lines) in zip(axes.flat, panels(sizes, depths), strict=True):
        for (label, (xs, ys)), mark in zip(lines.items(), MARKS, strict=False):
            panel.plot(xs, ys, mark, label=label, markersize=4)
        panel.set_title(title)
        panel.set_xlabel(across)
        panel.set_ylabel(up)
        panel.set_xscale("log")
        across_all = sorted({x for xs, _ in lines.values() for x in xs})
        if len(across_all) <= FEW:
            panel.set_xticks(across_all, [f"{x:,.0f}" for x in across_all])
            panel.minorticks_off()
        heights = [y for _, ys in lines.values() for y in ys]
        if max(heights) < WIDE * min(heights):
            panel.set_ylim(0, 1.1 * max(heights))
        else:
            panel.set_yscale("log")
        panel.grid(alpha=0.3, which="both")
        panel.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def panels(
    sizes: Sequence[Mapping[str, Any]], depths: Mapping[str, Any]
) -> list[tuple[str, str, str, Lines]]:
    """Return the title, the names of both axes and the lines of each panel."""
    counts = [each["passages"] for each in sizes]

    def line(*names: str, factor: float = 1.0) -> tuple[list[float], list[float]]:
        values = []
        for each in sizes:
            value: Any = each
            for name in names:
                value = value[name]
            values.append(value * factor)
        return counts, values

    def times(of: str, ranker: str, share: str) -> tuple[list[float], list[float]]:
        found = depths[of]
        return [float(x) for x in found], [found[x][ranker][share] for x in found]

    rescoring = {"BM25 and Model 1": "model1", "BM25 alone": "bm25"}
    return [
        (
            "time to build", "passages", "s",
            {"ranklet": line("build", "seconds"), "tantivy": line("tantivy", "seconds")},
        ),
        (
            "memory to build", "passages", "MB",
            {
                "the bundle": line("bundle", factor=1e-6),
                "private": line("build", "private"),
                "resident, with mapped files": line("build", "resident"),
            },
        ),
        (
            "time of a query, one thread", "passages", "ms",
            {
                "ranklet, p99": line("p99"),
                "ranklet, p50": line("p50"),
                "tantivy, p99": line("tantivy", "p99"),
                "tantivy, p50": line("tantivy", "p50"),
            },
        ),
        (
            "first answer of a fresh process", "passages", "ms beyond numpy",
            {"files on disk": line("start from disk"), "files in the page cache": line("start")},
        ),
        (
            "rescoring, by candidates", "candidates", "ms, p50",
            {name: times("candidates", ranker, "p50") for name, ranker in rescoring.items()},
        ),
        (
            "rescoring, by length", "words of a document", "ms, p50",
            {name: times("words", ranker, "p50") for name, ranker in rescoring.items()},
        ),
    ]  # fmt: skip
