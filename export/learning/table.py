"""Say in a few lines what was learned, and what was not."""

from ranklet.export.learning.result import Learned, Row

MOST = 8  # rows of pipelines


def table(learned: Learned) -> str:
    """Return a table of the pipelines on the way to the chosen one, and what it means."""
    lines = [(learned.measure, "", "gain over the input (95 %)", "ms", "MB")]
    shown = [learned.rows[0], *learned.rows[1:][-MOST:]]
    for place, row in enumerate(shown):
        name = f"{row.name}{f'  ← {marked}' if (marked := mark(learned, row)) else ''}"
        lines.append(
            (
                name,
                f"{row.values.mean():.3f}",
                "" if place == 0 else str(learned.gain(row)),
                f"{row.cost.p95:.1f}",
                f"{row.cost.mb:.0f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = "\n".join(
        "  ".join(
            cell.ljust(width) if place in (0, 2) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    skipped = "".join(f"\nwithout {what}: {why}" for what, why in learned.skipped.items())
    return f"{text}\n{remarks(learned)}{skipped}"


def mark(learned: Learned, row: Row) -> str:
    """Return what a pipeline is marked by; empty for one that was not chosen."""
    return "" if not row.kept else "kept" if learned.target is not None else "chosen, but not sure"


def remarks(learned: Learned) -> str:
    """Return what the values were measured on, and what restricts them."""
    count = learned.parts[3]
    said = (
        f"{count:,} reported queries, which nothing was learned or chosen on; a number before a "
        "ranker is its weight\nms: of a query, 95 of 100 take less; MB: the size of the bundle"
        f"\nit took {learned.minutes:.1f} minutes and {learned.memory / 1e9:.1f} GB of memory"
    )
    if learned.relevance is not None:
        said += f"\nrelevance: {learned.relevance}"
    if learned.target is None:
        said += f"\n{learned.why}, so the input stays as it is"
    if learned.seen:
        said += (
            f"\n{learned.seen:,} of them share a relevant document with other judged queries, so "
            "the gain on new documents may be smaller"
        )
    return said
