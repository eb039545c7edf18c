"""Compare an imported model with the library that it was made for."""

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.faults import one_line
from ranklet.corpus.memory import release
from ranklet.runtime.errors import ModelFolderError
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.encoder import quiet
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.importing import form_of
from ranklet.training.imported.tokenizer import position_rows
from ranklet.training.one_thread import one_thread_each

LIBRARY, PACKAGE = "sentence-transformers", "sentence_transformers"
LARGEST = 1e-4  # difference of a number of a vector, or of a score, in float32
TEXTS = 16  # compared texts, of all lengths; a network that is read wrongly differs on any text


class Original(NamedTuple):
    """How an imported model compares with its library's own output."""

    library: str  # name and version
    difference: float  # largest absolute difference in float32

    def __str__(self) -> str:
        return f"equal to {self.library} within {self.difference:.0e}"


def load_original(kind: str, path: Path) -> Any:
    """Return a model of sentence-transformers, in float32 on the CPU.

    The library would otherwise compute in the type of the saved weights, and round what ranklet
    does not. It would also need whatever attention on a GPU the folder asks for.

    Args:
        kind: the name of its class, such as SentenceTransformer.
        path: the model's folder.
    """
    import sentence_transformers
    import torch

    plain = {"dtype": torch.float32, "attn_implementation": "eager"}
    with quiet():
        model = getattr(sentence_transformers, kind)(
            str(path), device="cpu", local_files_only=True, model_kwargs=plain
        )
    rows = position_rows(model)  # which the library does not look at
    if rows and (model.max_seq_length or rows + 1) > rows:
        model.max_seq_length = rows
    return model.float()


def shortened(text: str, settings: Any) -> str:
    """Return the begin of a text that every tokenizer reads as a query, whole.

    Args:
        text: any text.
        settings: of a ranker; they limit the tokens of a query.
    """
    return text[: max(1, settings.max_query_tokens // 4)]  # UTF-8 has up to 4 bytes per character


def compare(folder: str | Path, checkpoint: Checkpoint, texts: Sequence[str]) -> Original | None:
    """Compare a checkpoint with the original model; return None if its library is not installed.

    Args:
        folder: the original model.
        checkpoint: what was imported from it.
        texts: real texts, of which the first are compared.

    Raises:
        ModelFolderError: the difference is larger than `LARGEST`, so the import is wrong, or the
            library cannot load the model.
    """
    if find_spec(PACKAGE) is None:
        return None
    importing = form_of(checkpoint).importer()
    library = f"{LIBRARY} {version(LIBRARY)}"
    with one_line(f"{str(folder)!r} cannot be compared with {library}"), quiet(), one_thread_each:
        difference = importing.largest_difference(ModelFolder(folder), checkpoint, texts[:TEXTS])
    release()
    original = Original(library, difference)
    if not difference <= LARGEST:
        raise ModelFolderError(
            f"{str(folder)!r} was read wrongly, because its output differs from "
            f"{original.library}'s by {difference:.1e}; at most {LARGEST:g} is allowed. Please "
            "report the content of its modules.json"
        )
    return original
