"""Write the report of a training: what it gained, its curves, and with which options."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from ranklet.training.outcome import SHARED, rows_of
from ranklet.training.progress import duration
from ranklet.training.report.chart import Series, chart, number
from ranklet.training.report.words import Said, options_said, said, settings_said

ENDED = {
    "epochs": "all epochs were done",
    "steps": "all steps were done",
    "time": "the time was up (--minutes)",
    "patience": "the last evaluations brought no gain (--patience)",
}
NAMES = {
    "queries": "training queries",
    "split": "learned from",
    "tune": "tuned on",
    SHARED: "tuning queries that share a relevant document with training queries",
}
# Parts of a report that have a place of their own on the page, or none.
PLACED = (
    "best", "comparison", "warning", "evaluations", "best_step", "options", "grid", "measure",
    "log_likelihoods", "steps", "epochs", "seconds", "evaluation_seconds", "stopped_by", "network",
)  # fmt: skip


def page(
    kind: str, settings: Any, training: Mapping[str, Any], curve: Mapping[str, Sequence[float]]
) -> str:
    """Return the page of a checkpoint, HTML that loads nothing else.

    Args:
        kind: kind of the ranker.
        settings: the kind's settings.
        training: the checkpoint's report, with its ``comparison``.
        curve: ``step``, ``loss`` and ``rate``; empty for kinds without steps.
    """
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    title = f"Training of a ranker: {kind}"
    SubElement(head, "title").text = title
    SubElement(head, "style").text = (files(__package__) / "style.css").read_text("utf-8")
    main = SubElement(SubElement(html, "body"), "main")
    SubElement(main, "p", {"class": "brand"}).text = "ranklet"
    SubElement(main, "h1").text = title
    if training.get("warning"):
        SubElement(
            main, "p", {"class": "warning", "role": "alert"}
        ).text = f"Warning: {training['warning']}."
    _comparison(main, training["comparison"])
    _facts(main, training)
    _curves(main, training, curve)
    _table(main, "Options", options_said(kind, training.get("options", {})))
    _table(main, "Settings of the ranker", settings_said(settings))
    return f"<!doctype html>\n{tostring(html, 'unicode', method='html')}\n"


def _comparison(main: Element, comparison: Mapping[str, Any]) -> None:
    section = _section(main, "Before and after")
    count = comparison["queries"]
    unit = "query" if count == 1 else "queries"
    SubElement(section, "p").text = f"{comparison['measure']}, {count:,} {unit}"
    table = SubElement(section, "table", {"class": "comparison"})
    for name, value in rows_of(comparison):
        row = SubElement(table, "tr", {"class": "after"} if name == "after training" else {})
        SubElement(row, "th", scope="row").text = name
        SubElement(row, "td", {"class": "value"}).text = f"{value:.4f}"
        meter = SubElement(SubElement(row, "td", {"class": "wide"}), "div", {"class": "meter"})
        SubElement(meter, "span", style=f"width:{max(0.0, min(1.0, value)):.2%}").text = ""


def _facts(main: Element, training: Mapping[str, Any]) -> None:
    facts = {name: value for name, value in training.items() if name not in PLACED}
    if "steps" in training:
        epochs = training["epochs"]
        facts["steps"] = f"{training['steps']:,}, in {epochs:,} epoch{'s' * (epochs != 1)}"
        facts["time"] = (
            f"{duration(training['seconds'])} of learning, "
            f"{duration(training['evaluation_seconds'])} of evaluations"
        )
        stopped = training["stopped_by"]
        facts["ended because"] = ENDED.get(stopped, stopped)
        facts["saved weights"] = f"those of step {training['best_step']:,}"
    elif "seconds" in training:  # not if there was nothing to learn
        facts["time"] = duration(training["seconds"])
    listed = SubElement(_section(main, "Data and duration"), "dl")
    for name, value in facts.items():
        entry = SubElement(listed, "div")
        SubElement(entry, "dt").text = NAMES.get(name, name.replace("_", " "))
        SubElement(entry, "dd").text = said(value)


def _curves(
    main: Element, training: Mapping[str, Any], curve: Mapping[str, Sequence[float]]
) -> None:
    evaluations = [(each["step"], each["value"]) for each in training.get("evaluations", ())]
    if evaluations:
        comparison = training["comparison"]
        best = (training["best_step"], comparison["after"])
        level = comparison["baseline"], comparison["bm25"]
        name = comparison["measure"].split()[0]
        series = Series("steps", name, evaluations, dots=True, best=best, level=level)
        said_best = f"{name} of the saved weights: {best[1]:.4f}, at step {best[0]:,}"
        _figure(main, f"{name} on the tuning queries", series, said_best)
    for key, name in (("loss", "loss"), ("rate", "learning rate")):
        if curve.get("step"):
            points = list(zip(curve["step"], curve[key], strict=True))
            said_last = f"{name} at the end: {number(points[-1][1])}"
            _figure(main, name.capitalize(), Series("steps", name, points), said_last)
    likelihoods = training.get("log_likelihoods", ())
    if likelihoods:
        points = list(enumerate(likelihoods, start=1))
        series = Series("iterations of EM", "log-likelihood, nats", points, dots=True)
        title = "Log-likelihood of the queries before each iteration"
        _figure(main, title, series, f"last: {number(points[-1][1])} nats")


def _figure(main: Element, title: str, series: Series, caption: str) -> None:
    section = _section(main, title)
    section.append(chart(series))
    SubElement(section, "p", {"class": "caption"}).text = caption


def _table(main: Element, title: str, rows: Iterable[Said]) -> None:
    listed = list(rows)
    if not listed:
        return
    section = _section(main, title)
    if any(each.changed for each in listed):
        SubElement(section, "p").text = "Marked values are not the defaults."
    body = SubElement(SubElement(section, "table", {"class": "options"}), "tbody")
    for each in listed:
        row = SubElement(body, "tr", {"class": "changed"} if each.changed else {})
        SubElement(row, "td").text = each.about
        SubElement(row, "td", {"class": "name"}).text = each.name
        SubElement(SubElement(row, "td", {"class": "value"}), "span").text = each.value


def _section(main: Element, title: str) -> Element:
    section = SubElement(main, "section")
    SubElement(section, "h2").text = title
    return section
