"""Say in at most ten lines what was learned."""

from ranklet.export.learning.result import Learned

MOST = 8  # rows of pipelines


def table(learned: Learned) -> str:
    """Return a table of the pipelines on the way to the chosen one, and what it means."""
    lines = [(f"{learned.measure}", "", "gain over the input (95 %)", "ms", "MB")]
    shown = [learned.rows[0], *learned.rows[1:][-MOST:]]
    for place, row in enumerate(shown):
        name = row.name if place == 0 else f"{row.name}{'  ← kept' if row.kept else ''}"
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
    return f"{text}\n{remarks(learned)}"


def remarks(learned: Learned) -> str:
    """Return what the values were measured on, and what restricts them."""
    count = learned.parts[3]
    said = (
        f"{count:,} reported queries, which nothing was learned or chosen on; a number before a "
        "ranker is its weight\nms: of a query, 95 of 100 take less; MB: the size of the bundle"
    )
    if learned.target is None:
        said += (
            "\nnothing was sure to gain on the queries to choose on, so the input stays as it is"
        )
    if learned.seen:
        said += (
            f"\n{learned.seen:,} of them share a relevant document with queries that were learned "
            "from, so the gain on new documents may be smaller"
        )
    return said
