"""Write the report of a training: what it gained, its curves, and with which options."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from typing import Any, NamedTuple

from ranklet.corpus.progress import duration
from ranklet.runtime.html import GENERATOR, Markup, element
from ranklet.runtime.options import options_of
from ranklet.training.outcome import SHARED, rows_of
from ranklet.training.report.chart import Series, chart, number

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
    warning = f"Warning: {training['warning']}." if training.get("warning") else ""
    return document(
        f"Training of a ranker: {kind}",
        element("p", warning, class_="warning", role="alert") if warning else "",
        _comparison(training["comparison"]),
        _facts(training),
        *_curves(training, curve),
        _table("Options", options_said(kind, training.get("options", {}))),
        _table("Settings of the ranker", settings_said(settings)),
    )


def document(title: str, *content: str) -> str:
    """Return a page of some content, HTML that loads nothing else."""
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        GENERATOR,
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", title),
        element("style", Markup((files(__package__) / "style.css").read_text("utf-8"))),
    )
    brand = element("p", "ranklet", class_="brand")
    main = element("main", brand, element("h1", title), *content)
    return f"<!doctype html>\n{element('html', head, element('body', main), lang='en')}\n"


def _comparison(comparison: Mapping[str, Any]) -> Markup:
    count, rows = comparison["queries"], []
    for name, value in rows_of(comparison):
        bar = element("span", style=f"width:{max(0.0, min(1.0, value)):.2%}")
        cells = (
            element("th", name, scope="row"),
            element("td", f"{value:.4f}", class_="value"),
            element("td", element("div", bar, class_="meter"), class_="wide"),
        )
        rows.append(element("tr", *cells, class_=name == "after training" and "after"))
    about = f"{comparison['measure']}, {count:,} {'query' if count == 1 else 'queries'}"
    table = element("table", *rows, class_="comparison")
    return section("Before and after", element("p", about), table)


def _facts(training: Mapping[str, Any]) -> Markup:
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
    entries = (
        element("div", element("dt", NAMES.get(name, name.replace("_", " "))),
                element("dd", said(value)))
        for name, value in facts.items()
    )  # fmt: skip
    return section("Data and duration", element("dl", *entries))


def _curves(training: Mapping[str, Any], curve: Mapping[str, Sequence[float]]) -> Iterator[Markup]:
    evaluations = [(each["step"], each["value"]) for each in training.get("evaluations", ())]
    if evaluations:
        comparison = training["comparison"]
        best = (training["best_step"], comparison["after"])
        level = comparison["baseline"], comparison["bm25"]
        name = comparison["measure"].split()[0]
        series = Series("steps", name, evaluations, dots=True, best=best, level=level)
        said_best = f"{name} of the saved weights: {best[1]:.4f}, at step {best[0]:,}"
        yield _figure(f"{name} on the tuning queries", series, said_best)
    for key, name in (("loss", "loss"), ("rate", "learning rate")):
        if curve.get("step"):
            points = list(zip(curve["step"], curve[key], strict=True))
            said_last = f"{name} at the end: {number(points[-1][1])}"
            yield _figure(name.capitalize(), Series("steps", name, points), said_last)
    likelihoods = training.get("log_likelihoods", ())
    if likelihoods:
        points = list(enumerate(likelihoods, start=1))
        series = Series("iterations of EM", "log-likelihood, nats", points, dots=True)
        title = "Log-likelihood of the queries before each iteration"
        yield _figure(title, series, f"last: {number(points[-1][1])} nats")


def _figure(title: str, series: Series, caption: str) -> Markup:
    return section(title, chart(series), element("p", caption, class_="caption"))


class Said(NamedTuple):
    """An option or a setting.

    Attributes:
        name: the option's flag on the command line, or its name in Python.
        about: what it is.
        value: the value as people write it.
        changed: whether the value is not the default.
    """

    name: str
    about: str
    value: str
    changed: bool


def options_said(kind: str, given: Mapping[str, Any]) -> Iterator[Said]:
    """Yield the options of a training.

    Args:
        kind: kind of the ranker.
        given: the ``options`` of a checkpoint's report.
    """
    defaults = import_module(f"ranklet.training.rankers.{kind}.options").Options()
    for path, _, default, option in options_of(defaults):
        found: Any = given
        for name in path:
            found = found.get(name, default) if isinstance(found, Mapping) else default
        if path[0] not in given or (path[0] == "epochs" and given.get("steps")):
            continue
        flag = option.flag or f"--{path[-1].replace('_', '-')}"
        changed = _plain(found) != _plain(default)
        # The help text of a switch is of what its flag does.
        value = ("yes" if changed else "no") if option.kind is bool else said(found)
        yield Said(path[-1] if option.flag is None else flag, option.about, value, changed)


def settings_said(settings: Any) -> Iterator[Said]:
    """Yield the settings of a ranker that say what they are."""
    for path, _, value, option in options_of(settings):
        yield Said(".".join(path).rstrip("_"), option.about, said(value), changed=False)


def said(value: object) -> str:
    """Return a value as people write it.

    >>> said(True), said(None), said({"field": "lemmas", "k1": 0.9}), said([0.1, 2])
    ('yes', 'none', 'field lemmas, k1 0.9', '0.1, 2')
    """
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {said(each)}" for name, each in value.items())
    return ", ".join(map(said, value)) if isinstance(value, list | tuple) else str(value)


def _plain(value: Any) -> Any:
    """Return a value as it comes back from JSON."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return vars(value) if hasattr(value, "__dataclass_fields__") else value


def _table(title: str, rows: Iterable[Said]) -> Markup:
    listed = list(rows)
    if not listed:
        return Markup()
    changed = any(each.changed for each in listed)
    body = (
        element(
            "tr",
            element("td", each.about),
            element("td", each.name, class_="name"),
            element("td", element("span", each.value), class_="value"),
            class_=each.changed and "changed",
        )
        for each in listed
    )
    table = element("table", element("tbody", *body), class_="options")
    return section(
        title, element("p", "Marked values are not the defaults.") if changed else "", table
    )


def section(title: str, *children: str) -> Markup:
    """Return a part of a page with a heading of its own."""
    return element("section", element("h2", title), *children)
