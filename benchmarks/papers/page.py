"""Write docs/papers.md from relations.toml and runs.jsonl: ``python -m benchmarks.papers.page``.

With ``--work FOLDER`` it first takes over what `paper_trainings` has measured there.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.place import ROOT
from benchmarks.papers.plans import BM25, NAMES
from benchmarks.papers.relations import (
    KEPT,
    NO_RUNS,
    Judged,
    judge_all,
    keep_runs,
    measure_cell,
    read_runs,
)
from benchmarks.papers.verdicts import UNDECIDED, VERDICTS, Cell
from ranklet.corpus.evaluation.systems import mark

PAGE = ROOT / "docs" / "papers.md"
HEAD = """# Results of the papers

ranklet builds the systems of five papers. The papers used MS MARCO, which cannot be had for these
measurements. So a result is a relation such as "A ranks better than B", on other collections, with
MiniLM in place of BERT base and trainings of minutes. A rule gives every verdict. None is typed.

{counts}

- **met**: every cell that decides has the claimed sign, p < .05. "=" needs a 95 % interval within
  ± .01, a number the paper's bounds. **missed**: a cell has the other sign, p < .05. **level**: not
  all are significant.
- **undecided**: no cell decides. Those under a table do not, because the system is another one or
  is gone, runs are missing, the better of two networks is below BM25, or a trained network is below
  its untrained start. Brackets give the reason, or the value that was not reached.
- Two-sided paired t-tests, Holm's correction over the cells of a paper that decide; † p < .05,
  ‡ p < .01. The error has a fixed part for seeds, by kind of comparison.

Differences are of MRR@10, for Mitra of nDCG@10, with half of their intervals. *m* is medquad
without titles, *q* qa-mix, *g* google-wiki, *s* scifact, *d* debian-packages, *n* long documents.
*small* is an encoder of two layers. Cells with * have a value per query in
`benchmarks/papers/runs.jsonl`, others figures alone. *Again* is a name for
`python -m benchmarks paper_trainings --only`, or a study of the [archive](../benchmarks/archive.md)
with its commit. `python -m benchmarks.papers.page` makes this page of relations.toml beside the
runs. [These tables](../benchmarks/results/papers.md) have all trainings.
`make reproduce PAPER=epic CHECKPOINT=FOLDER` ranks a paper's own collection with its published
weights, beside its table; it needs a network, and a GPU for a night. So do `repbert`, `vanilla`,
`sim_doc`, `sim_pair`, `pre_doc` and `pre_pair`. With `RANKLET_AUTHORS`, tests run files of the
authors of NDRM and EPIC, whose scores ours equal.

## What encoders rank before training

They rank BM25's first 50 anew, and trainings begin with them. MRR@10.

{starts}
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.page", description=__doc__)
    parser.add_argument("--work", type=Path, help="folder of trainings, work/benchmarks")
    folder = parser.parse_args().work
    if folder is not None:
        keep_runs(map(json.loads, (folder / KEPT).read_text("utf-8").splitlines()))
    PAGE.write_text(make_page(judge_all()), "utf-8")


def make_page(judged: Sequence[Judged]) -> str:
    """Return the page of all relations."""
    papers = dict.fromkeys(each.given["paper"] for each in judged)
    of = {paper: [each for each in judged if each.given["paper"] == paper] for paper in papers}
    rows = [[paper, *_counts(own)] for paper, own in of.items()]
    counts = _table(["paper", *VERDICTS], [*rows, ["all", *_counts(judged)]])
    head = ["relation", "decides", "queries", "again", "verdict"]
    sections = [
        f"## {paper}\n\n{_table(head, map(_row, own))}\n\nDecides nothing:\n\n"
        + "\n".join(f"- {each.given['says']}: {text}" for each in own if (text := _others(each)))
        for paper, own in of.items()
    ]
    return "\n\n".join([HEAD.format(counts=counts, starts=_starts()).rstrip(), *sections]) + "\n"


def _counts(judged: Sequence[Judged]) -> list[int]:
    counted = Counter(each.verdict for each in judged)
    return [counted[verdict] for verdict in VERDICTS]


def _row(judged: Judged) -> list[str]:
    """Return a relation with what decides, and the verdict."""
    deciding = [
        (given, _text(given, cell, p) + (f"±{_short(cell.half)}" if cell.error else ""))
        for (given, cell), p, outcome in zip(judged.cells, judged.p, judged.outcomes, strict=True)
        if outcome != UNDECIDED
    ]
    asked = sorted({given["n"] for given, _ in deciding if "n" in given})
    queries = " to ".join(f"{n:,}" for n in dict.fromkeys((*asked[:1], *asked[-1:])))
    again = f"`{judged.given['again']}`" if "again" in judged.given else "–"
    decides = "; ".join(text for _, text in deciding)
    return [judged.given["says"], decides or "–", queries or "–", again, judged.verdict]


def _others(judged: Judged) -> str:
    """Return the cells that decide nothing, by their reasons."""
    others: dict[str, list[str]] = {}
    for (given, cell), outcome in zip(judged.cells, judged.outcomes, strict=True):
        if outcome == UNDECIDED:
            known = given["on"] if cell.nothing == NO_RUNS else _text(given, cell, 1.0)
            others.setdefault(cell.nothing, []).append(known)
    texts = [f"{', '.join(texts)} ({why})" for why, texts in others.items()]
    return "; ".join(texts) or ("" if judged.cells else judged.given.get("why", NO_RUNS))


def _text(given: Mapping[str, Any], cell: Cell, p: float) -> str:
    where = f"{given['on']}{' small' if given.get('small') else ''}"
    if "difference" not in given:
        return f"{where} {cell.value:,.10g}"
    return f"{where} {_short(cell.value, '+')}{mark(p).strip()}{'*' if 'runs' in given else ''}"


def _short(number: float, sign: str = "") -> str:
    """Return a number of three decimals.

    >>> _short(-0.0821, "+"), _short(0.02)
    ('−.082', '.020')
    """
    return f"{number:{sign}.3f}".replace("0.", ".", 1).replace("-", "−")


def _starts() -> str:
    """Return a table of encoders that trainings begin with, and of what was trained from them."""
    runs, rows = read_runs(), []
    for (name, collection), found in sorted(runs.items(), key=lambda each: each[0][0] not in NAMES):
        for other in (BM25,) if name in NAMES else filter(None, (found[0].start,)):
            given, cell = measure_cell(name, other, collection, "MRR@10", "", runs)
            if given:
                difference = f"{_short(cell.value, '+')}±{_short(cell.half)}"
                rows.append([name, collection, given["trained"], f"{given['n']:,}",
                             _short(given["own"]), other, difference])  # fmt: skip
    head = ["ranker", "collection", "seeds", "queries", "its value", "next to", "difference"]
    return _table(head, rows) if rows else "Not measured."


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    main()
