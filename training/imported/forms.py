"""What a kind recognises in the folder of another library's model.

Each kind that imports such models has a module `forms` with its `FORMS`. They are told by the
folder's small files, without PyTorch or any other library.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from importlib import import_module
from typing import Any

from ranklet.training.imported.folder import ModelFolder


class Match(IntEnum):
    """How well a folder fits a form; the best match counts."""

    NO = 0
    PERHAPS = 1
    SURE = 2


@dataclass(frozen=True)
class Form:
    """One form of models that a kind imports.

    Attributes:
        kind: what it is imported as.
        name: what `--as` calls it.
        about: what it is, for people.
        recognises: returns how well a folder fits.
        hint: what people can do so that a folder fits surely.
        choices: the arguments of the kind's `import_model` that can be chosen.
        settings: what the settings of its checkpoints have in common. Of a kind's forms that fit a
            checkpoint, it is the last.
        network: whether it has a network to export.
        module: the module of the kind that imports it.
        compared: whether sentence-transformers reads it, too, so that both can be compared.
    """

    kind: str
    name: str
    about: str
    recognises: Callable[[ModelFolder], Match]
    hint: str = ""
    choices: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    network: bool = True
    module: str = "importing"
    compared: bool = True

    def importer(self) -> Any:
        """Return the module with the functions `import_model` and `difference`."""
        return import_module(f"ranklet.training.rankers.{self.kind}.{self.module}")
