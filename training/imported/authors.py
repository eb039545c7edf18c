"""What the importers of weights share that the authors of a paper have saved."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ranklet.runtime.ground.errors import ModelFolderError


def own_name(name: str, names: Sequence[tuple[str, str]]) -> str:
    r"""Return our name of a part of a network, "" if there is none.

    Args:
        name: the authors' name.
        names: patterns of the beginnings of their names, and what stands in their place in ours.

    >>> own_name("fc.0.weight", [(r"fc\.0\.", "norm.")])
    'norm.weight'
    """
    for theirs, ours in names:
        if re.match(theirs, name):
            return re.sub(theirs, ours, name, count=1)
    return ""


def read_length(path: Path, settings: Mapping[str, Any], name: str, default: int, unit: str) -> int:
    """Return a length of the authors' settings.

    Raises:
        ModelFolderError: it is no whole number ≥ 1; the message begins with the path.
    """
    value = settings.get(name, default)
    if type(value) is not int or value < 1:
        raise ModelFolderError(
            f"{str(path)!r}: {name} is {value!r:.40}, which is no number of {unit}"
        )
    return value
