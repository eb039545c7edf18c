"""Recognise what a model's folder contains, and import it as a checkpoint."""

from importlib import import_module
from pathlib import Path

from ranklet.runtime.errors import InputError
from ranklet.training.checkpoint import RANKLET, Checkpoint, read_checkpoint
from ranklet.training.imported.encoder import check_known
from ranklet.training.imported.folder import CONFIG, ModelFolder

NAMES = {
    "dense": "dense encoder",
    "static": "static embeddings",
    "cross_encoder": "cross-encoder",
    "splade": "sparse encoder",
}


def recognise(folder: ModelFolder) -> str:
    """Return what a folder contains, one of `NAMES`.

    Raises:
        ModelFolderError: it is no model that ranks texts.
    """
    kind = folder.sentence.get("model_type")
    names = [module.name for module in folder.modules]
    config = folder.json(CONFIG) if (folder.path / CONFIG).is_file() else {}
    architecture = (config.get("architectures") or [""])[0]
    if "StaticEmbedding" in names or architecture == "StaticModel":
        return "static"
    if kind == "SparseEncoder" or "SpladePooling" in names:
        return "splade"
    if names and kind != "CrossEncoder":
        return "dense"
    if kind == "CrossEncoder" or architecture.endswith("ForSequenceClassification"):
        return "cross_encoder"
    if architecture.endswith("ForMaskedLM") and "splade" in folder.name.lower():
        return "splade"
    check_known(folder.path, config)
    return "dense"


def read_model(
    path: str | Path, *, dimension: int | None = None, label: str | None = None
) -> Checkpoint:
    """Return a checkpoint that ranklet has trained, or a model of another library.

    Args:
        path: the folder.
        dimension: keep only the first numbers of a dense vector.
        label: the label of a cross-encoder that means relevant, if it has several.

    Raises:
        ModelFolderError: the folder of another library cannot be used.
        InputError: a checkpoint of ranklet cannot be read, or the model does not have what is
            chosen.
    """
    if (Path(path) / RANKLET).is_file():
        if dimension is not None or label is not None:
            raise InputError("--dimension and --label are for models of other libraries only")
        return read_checkpoint(path)
    folder = ModelFolder(path)
    kind = recognise(folder)
    if dimension is not None and kind not in ("dense", "static"):
        raise InputError(f"{folder.name} is a {NAMES[kind]}, which has no dimension to choose")
    if label is not None and kind != "cross_encoder":
        raise InputError(f"{folder.name} is a {NAMES[kind]}, which has no labels")
    chosen = {"dimension": dimension, "label": label}
    options = {name: value for name, value in chosen.items() if value is not None}
    importing = import_module(f"ranklet.training.rankers.{kind}.importing")
    checkpoint: Checkpoint = importing.import_model(folder, **options)
    return checkpoint
