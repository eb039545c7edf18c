"""Say in words what a ranker's options and settings are."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from ranklet.runtime.options import options_of
from ranklet.training.report.chart import number


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
