"""Draw what was learned as a page: quality against latency, pipelines, and what was skipped."""

from collections.abc import Iterable, Sequence

from ranklet.export.learning.result import Learned
from ranklet.export.learning.table import mark, remarks
from ranklet.runtime.html import Markup, element
from ranklet.training.report.chart import Series, chart
from ranklet.training.report.page import document, section

PIPELINES = ("gain over the input (95 %)", "ms, p50 / p95", "MB", "memory, MB")
BY_HAND = "These commands do about the same. JUDGED is a collection with its documents."


def page(learned: Learned) -> str:
    """Return an HTML page that loads nothing else."""
    learn, tune, choose, report = learned.parts
    how = (
        f"{learn:,} queries were learned from, {tune:,} tuned trainings, {choose:,} chose the "
        f"pipeline by five-fold cross-validation, and {report:,} were ranked once, at the end."
    )
    if learned.bm25:
        how = f"BM25 was tuned to {learned.bm25}. {how}"
    by_hand = element("p", BY_HAND), element("pre", "\n".join(learned.commands))
    rows = [
        (
            f"{row.name}{f' ({marked})' if (marked := mark(learned, row)) else ''}",
            f"{row.values.mean():.4f}",
            "" if row is learned.rows[0] else str(learned.gain(row)),
            f"{row.cost.p50:.1f} / {row.cost.p95:.1f}",
            f"{row.cost.mb:.1f}",
            f"{row.cost.memory:.0f}" if row.cost.memory else "",
        )
        for row in learned.rows
    ]
    return document(
        "What was learned",
        *(element("p", f"{line}.") for line in remarks(learned).splitlines()),
        section(f"{learned.measure} against milliseconds", picture(learned)),
        section("Pipelines", _table(("pipeline", learned.measure, *PIPELINES), rows)),
        section("Not taken", _table(("what", "why"), learned.skipped.items())),
        section("How", element("p", how)),
        section("By hand", *by_hand) if learned.commands else "",
    )


def picture(learned: Learned) -> Markup:
    """Return an ``svg`` with a dot for each pipeline."""
    points = [(row.cost.p50, float(row.values.mean())) for row in learned.rows]
    best = next((point for row, point in zip(learned.rows, points, strict=True) if row.kept), None)
    names = [row.name.split(" · ")[-1] for row in learned.rows]  # what it adds
    across = "milliseconds per query, median"
    return chart(Series(across, learned.measure, points, dots=True, best=best, names=names))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    lines = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    return element("table", element("tr", *(element("th", cell) for cell in head)), *lines)
