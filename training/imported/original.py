"""Compare an imported model with the library that it was made for."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ranklet.runtime.errors import ModelFolderError
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import ModelFolder

LIBRARY, PACKAGE = "sentence-transformers", "sentence_transformers"
LARGEST = 1e-4  # difference of a number of a vector, or of a score, in float32
TEXTS = 32  # compared texts


class Original(NamedTuple):
    """How an imported model compares with its library's own output."""

    library: str  # name and version
    difference: float  # largest absolute difference in float32

    def __str__(self) -> str:
        return f"equal to {self.library} within {self.difference:.0e}"


def compare(folder: str | Path, checkpoint: Checkpoint, texts: Sequence[str]) -> Original | None:
    """Compare a checkpoint with the original model; return None if its library is not installed.

    Args:
        folder: the original model.
        checkpoint: what was imported from it.
        texts: real texts, of which the first are compared.

    Raises:
        ModelFolderError: the difference is larger than `LARGEST`, so the import is wrong.
    """
    if find_spec(PACKAGE) is None:
        return None
    importing = import_module(f"ranklet.training.rankers.{checkpoint.kind}.importing")
    difference = importing.largest_difference(ModelFolder(folder), checkpoint, texts[:TEXTS])
    original = Original(f"{LIBRARY} {version(LIBRARY)}", difference)
    if not difference <= LARGEST:
        raise ModelFolderError(
            f"{str(folder)!r} was read wrongly, because its output differs from "
            f"{original.library}'s by {difference:.1e}; at most {LARGEST:g} is allowed. Please "
            "report the content of its modules.json"
        )
    return original
