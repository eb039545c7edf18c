"""Memory of training by document length: conformers linear, transformers quadratic.

Mitra et al.'s Figure 2 on a processor: the peak of a fresh process through one step of training.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.processes import fresh
from benchmarks.harness.report import table

PACKAGES = ("torch",)
LENGTHS = (250, 500, 1000, 1500, 2000, 3000, 4000)  # terms of a document
PAIRS = 1  # of a query and a document in one step
SPARE = 0.6  # of the machine's free memory; what would take more is not tried
FIGURE = "docs/conformer-memory.png"
KINDS = {"conformer": ("separable", 31), "transformer": ("full", 0)}  # attention, convolution

STEP = """
import torch
from ranklet.training.rankers.conformer_kernel.network import ConformerKernel, Network, Pairs
torch.manual_seed(0)
sizes = Network(5000, "ndrm1", attention=attention, width=width, **changes)
model = ConformerKernel(sizes)
if length:
    rows = torch.randint(2, 5000, (pairs, length))
    ones = torch.ones(pairs, 20)
    given = Pairs(torch.randint(2, 5000, (pairs, 20)), rows, ones, ones, torch.ones(pairs))
    model(given).sum().backward()
"""


def run(place: Place) -> str:  # noqa: ARG001
    """Measure both kinds at every length, and draw them."""
    found = measured(LENGTHS)
    draw(LENGTHS, found, ROOT / FIGURE)
    return report(LENGTHS, found)


def measured(
    lengths: Sequence[int], kinds: Sequence[str] = tuple(KINDS), **changes: int
) -> dict[str, list[float]]:
    """Return MB beyond a process that makes the model and no step, by kind and length.

    Fewer than lengths where the next, if it grows quadratically, might not fit this machine.

    Args:
        lengths: of the documents, ascending.
        kinds: of `KINDS`.
        changes: of the network's sizes.
    """
    found = {}
    for kind in kinds:
        attention, width = KINDS[kind]
        values = {"attention": attention, "width": width, "pairs": PAIRS, "changes": changes}
        base = _peak({**values, "length": 0})
        found[kind] = peaks = list[float]()
        for at, length in enumerate(lengths):
            if at and peaks[-1] * (length / lengths[at - 1]) ** 2 > SPARE * _free():
                break
            peaks.append(_peak({**values, "length": length}) - base)
    return found


def report(lengths: Sequence[int], found: Mapping[str, Sequence[float]]) -> str:
    """Return the table, and the power of the length that the memory grows with at its end."""
    rows = [
        [f"{length:,}", *(f"{each[at]:,.0f}" if at < len(each) else "" for each in found.values())]
        for at, length in enumerate(lengths)
    ]
    powers = ", ".join(f"{kind} n^{growth(lengths, values):.2f}" for kind, values in found.items())
    return f"""
NDRM1 with the paper's sizes, a document and 20 query terms, one step forward and back; \
other layers in the place of the conformers and nothing else changed. MB beyond a process that \
makes the model and no step, peak resident memory.

{table(["terms of a document", *found], rows)}

From the middle of its lengths to the longest the memory grows as: {powers}.

![Peak memory by length](../{FIGURE})

The transformer makes the n × n matrix, as the paper's does; kernels that fuse attention do not. A \
length that might take more than {SPARE:.0%} of this machine's free memory is not tried: there its \
line ends.
"""


def growth(lengths: Sequence[int], values: Sequence[float]) -> float:
    """Return p in memory ≈ c · length^p, between the middle of the measured lengths and the last.

    >>> growth((1, 2, 4, 8), (1.0, 4.0, 16.0))
    2.0
    """
    middle, last = (len(values) - 1) // 2, len(values) - 1
    if middle == last:  # a single length
        return float("nan")
    up = np.log(values[last] / values[middle]) / np.log(lengths[last] / lengths[middle])
    return float(up)


def draw(lengths: Sequence[int], found: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw memory over length, a line a kind, into a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for (kind, values), mark in zip(found.items(), ("o-", "s--", "^:"), strict=False):
        all_fit = len(values) == len(lengths)
        label = kind if all_fit else f"{kind} (does not fit this machine beyond)"
        axes.plot(lengths[: len(values)], values, mark, label=label)
    axes.set_xlabel("terms of a document")
    axes.set_ylabel("peak memory of a training step, MB")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _free() -> float:
    """Return the memory that is available, MB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1e3
    return float("inf")


def _peak(values: dict[str, object]) -> float:
    """Return the peak resident memory of a fresh process, MB."""
    return float(fresh(STEP, values)["VmHWM"]) / 1e6
