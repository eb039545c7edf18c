"""Recognise what a model's folder contains, and import it as a checkpoint."""

import json
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from ranklet.runtime.errors import InputError, ModelFolderError, RankletError
from ranklet.runtime.kinds import LEXICAL
from ranklet.training.checkpoint import RANKLET, Checkpoint, read_checkpoint
from ranklet.training.faults import one_line
from ranklet.training.imported.encoder import check_known, check_not_generative
from ranklet.training.imported.folder import CONFIG, ModelFolder

NAMES = {
    "dense": "dense encoder",
    "static": "static embeddings",
    "cross_encoder": "cross-encoder",
    "splade": "sparse encoder",
    "colbert": "late-interaction encoder",
}
LATE = ("ColBERT", "MultiVectorEncoder")  # PyLate's and sentence-transformers' names of models
KINDS = {"static": "dense"}  # of what is no kind of its own
# What can be chosen of a model, by the name of the choice in `read_model`.
CHOICES = {"dense": ("dimension",), "static": ("dimension",), "cross_encoder": ("label",)}


def recognise(folder: ModelFolder) -> str:
    """Return what a folder contains, one of `NAMES`.

    Raises:
        ModelFolderError: it is no model that ranks texts.
    """
    with one_line(f"what {str(folder.path)!r} contains cannot be recognised"):
        return _recognised(folder)


def _recognised(folder: ModelFolder) -> str:
    kind = folder.sentence.get("model_type")
    names = [module.name for module in folder.modules]
    config = folder.json(CONFIG) if (folder.path / CONFIG).is_file() else {}
    architecture = (config.get("architectures") or [""])[0]
    if folder.is_static:
        return "static"
    if kind in LATE or architecture == "HF_ColBERT":
        return "colbert"
    if kind == "SparseEncoder" or "SpladePooling" in names:
        return "splade"
    if names and kind != "CrossEncoder":
        return "dense"
    if kind == "CrossEncoder" or architecture.endswith("ForSequenceClassification"):
        return "cross_encoder"
    if architecture.endswith("ForMaskedLM"):
        if "splade" in folder.name.lower():
            return "splade"
        raise ModelFolderError(
            f"{str(folder.path)!r} is a {architecture}, which may be a SPLADE, or a language model "
            f"that ranks nothing before it is trained; say --as splade or --as dense, or rename "
            "the folder so that its name contains splade"
        )
    check_known(folder.path, config, "AutoModel")
    check_not_generative(folder.path, config)
    return "dense"


def is_checkpoint(path: str | Path) -> bool:
    """Return whether ranklet has written a folder; other folders are models of other libraries."""
    return (Path(path) / RANKLET).is_file()


def needed_extra(paths: Iterable[str | Path]) -> str:
    """Return the smallest extra that suffices to export checkpoints and models, without any: none.

    They are recognised by their small files, so that no package is needed for it.
    """
    needed = {_needed(Path(path)) for path in paths}
    return next((extra for extra in ("export", "train", "lexical") if extra in needed), "")


def _needed(path: Path) -> str:
    try:
        if is_checkpoint(path):
            kind = json.loads((path / RANKLET).read_text("utf-8"))["kind"]
            return "lexical" if kind in LEXICAL else "export"
        return "train" if recognise(ModelFolder(path)) == "static" else "export"
    except (RankletError, OSError, ValueError, KeyError, TypeError):
        return "export"


def is_cross_encoder(path: str | Path) -> bool:
    """Return whether a folder has a cross-encoder of another library, whose label can be chosen."""
    return not is_checkpoint(path) and recognise(ModelFolder(path)) == "cross_encoder"


def read_model(
    path: str | Path,
    *,
    dimension: int | None = None,
    label: str | None = None,
    kind: str | None = None,
) -> Checkpoint:
    """Return a checkpoint that ranklet has trained, or a model of another library.

    Args:
        path: the folder.
        kind: what the folder contains, one of `NAMES`, if its files do not say so; None recognises
            it.
        dimension: keep only the first numbers of a dense vector.
        label: the label of a cross-encoder that means relevant, if it has several.

    Raises:
        ModelFolderError: the folder of another library cannot be used.
        InputError: a checkpoint of ranklet cannot be read, or the model does not have what is
            chosen.
    """
    if is_checkpoint(path):
        if any(option is not None for option in (dimension, label, kind)):
            raise InputError("--dimension, --label and --as are for models of other libraries only")
        return read_checkpoint(path)
    folder = ModelFolder(path)
    if kind is not None and kind not in NAMES:
        raise InputError(f"--as {kind!r} is unknown; allowed are {', '.join(NAMES)}")
    kind = kind or recognise(folder)
    chosen = {"dimension": dimension, "label": label}
    options = {name: value for name, value in chosen.items() if value is not None}
    for name in options:
        if name not in CHOICES.get(kind, ()):
            raise InputError(f"{folder.name} is a {NAMES[kind]}, which has no {name} to choose")
    importing = import_module(f"ranklet.training.rankers.{KINDS.get(kind, kind)}.importing")
    with one_line(f"{str(folder.path)!r} cannot be loaded"):
        checkpoint: Checkpoint = importing.import_model(folder, **options)
    return checkpoint
