"""Draw what was learned as a page: quality against latency, pipelines, and what was skipped."""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

from ranklet.export.learning.result import Learned, Row
from ranklet.export.learning.table import remarks
from ranklet.runtime.writing.atomic_file import atomic_file

WIDTH, HEIGHT, MARGIN = 720, 300, 56  # of the picture, in its own units


def write_page(learned: Learned, path: Path) -> Path:
    """Write the page atomically; return its path."""
    with atomic_file(path) as file:
        file.write(page(learned).encode())
    return path


def page(learned: Learned) -> str:
    """Return an HTML page that loads nothing else."""
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    SubElement(head, "title").text = "What was learned"
    style = files("ranklet.training.report") / "style.css"
    SubElement(head, "style").text = style.read_text("utf-8")
    main = SubElement(SubElement(html, "body"), "main")
    SubElement(main, "p", {"class": "brand"}).text = "ranklet"
    SubElement(main, "h1").text = "What was learned"
    for line in remarks(learned).splitlines():
        SubElement(main, "p").text = f"{line}."
    SubElement(main, "h2").text = f"{learned.measure} against milliseconds"
    main.append(picture(learned))
    SubElement(main, "h2").text = "Pipelines"
    rows = [
        (
            f"{row.name}{' (kept)' if row.kept else ''}",
            f"{row.values.mean():.4f}",
            "" if row is learned.rows[0] else str(learned.gain(row)),
            f"{row.cost.p50:.1f} / {row.cost.p95:.1f}",
            f"{row.cost.mb:.1f}",
            f"{row.cost.memory:.0f}" if row.cost.memory else "",
        )
        for row in learned.rows
    ]
    head_row = ("pipeline", learned.measure, "gain over the input (95 %)", "ms, p50 / p95", "MB")
    _table(main, (*head_row, "memory, MB"), rows)
    SubElement(main, "h2").text = "Not taken"
    _table(main, ("what", "why"), learned.skipped.items())
    SubElement(main, "h2").text = "How"
    learn, tune, choose, report = learned.parts
    SubElement(main, "p").text = (
        f"BM25 was tuned to {learned.bm25}. {learn:,} queries were learned from, {tune:,} tuned "
        f"trainings, {choose:,} chose the pipeline by five-fold cross-validation, and {report:,} "
        f"were ranked once, at the end. It took {learned.minutes:.1f} minutes."
    )
    if learned.commands:
        SubElement(main, "h2").text = "By hand"
        said = "These commands do about the same. JUDGED is a collection with its documents."
        SubElement(main, "p").text = said
        SubElement(main, "pre").text = "\n".join(learned.commands)
    return f"<!doctype html>\n{tostring(html, 'unicode', method='html')}\n"


def picture(learned: Learned) -> Element:
    """Return an ``svg`` with a dot for each pipeline."""
    xs = [row.cost.p50 for row in learned.rows]
    ys = [float(row.values.mean()) for row in learned.rows]
    left, right = 0.0, 1.1 * max(xs)
    low, high = min(ys), max(ys)
    space = max(0.01, 0.15 * (high - low))
    low, high = low - space, high + space
    svg = Element(
        "svg",
        {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "aria-label": "quality and latency"},
    )

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            MARGIN + (WIDTH - 2 * MARGIN) * (x - left) / (right - left),
            HEIGHT - MARGIN + (2 * MARGIN - HEIGHT) * (y - low) / (high - low),
        )

    corner, end = at(left, low), at(right, low)
    top = at(left, high)
    for one, other in ((corner, end), (corner, top)):
        SubElement(svg, "line", {"class": "axis", **_ends(one, other)})
    for x, y, text, anchor in (
        (end[0], end[1] + 32, "milliseconds per query, median", "end"),
        (corner[0], top[1] - 10, learned.measure, "start"),
        (corner[0], corner[1] + 16, "0", "middle"),
        (end[0], end[1] + 16, f"{right:.3g}", "end"),
        (corner[0] - 6, corner[1], f"{low:.3f}", "end"),
        (top[0] - 6, top[1] + 4, f"{high:.3f}", "end"),
    ):
        _text(svg, x, y, text, anchor)
    for number, (row, x, y) in enumerate(zip(learned.rows, xs, ys, strict=True)):
        across, up = at(x, y)
        dot = SubElement(
            svg,
            "circle",
            {
                "cx": f"{across:.1f}",
                "cy": f"{up:.1f}",
                "r": "6" if row.kept else "4",
                "class": "dot best" if row.kept else "dot",
            },
        )
        SubElement(dot, "title").text = f"{row.name}: {y:.4f}, {x:.1f} ms"
        _text(svg, across + 9, up + 4, _short(number, row), "start")
    return svg


def _short(number: int, row: Row) -> str:
    return row.name if number == 0 else row.name.split(" · ")[-1] if number > 1 else "BM25 tuned"


def _ends(one: tuple[float, float], other: tuple[float, float]) -> dict[str, str]:
    values = (*one, *other)
    return {name: f"{v:.1f}" for name, v in zip(("x1", "y1", "x2", "y2"), values, strict=True)}


def _text(svg: Element, x: float, y: float, text: str, anchor: str) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    SubElement(svg, "text", place).text = text


def _table(main: Element, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = SubElement(main, "table")
    line = SubElement(table, "tr")
    for cell in head:
        SubElement(line, "th").text = cell
    for row in rows:
        line = SubElement(table, "tr")
        for cell in row:
            SubElement(line, "td").text = cell
