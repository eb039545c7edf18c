"""Recognise sparse encoders of sentence-transformers, and masked language models that are one."""

from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.forms import Form, Match

IDF = "idf.json"  # weights of query terms by their spelling


def recognises(folder: ModelFolder) -> Match:
    """Return whether a folder is a sparse encoder's.

    A plain masked language model is one if its name says so or if it has weights of query terms,
    and else may be one.
    """
    if folder.type == "SparseEncoder" or "SpladePooling" in folder.module_names:
        return Match.SURE
    if folder.modules or not folder.architecture.endswith("ForMaskedLM"):
        return Match.NO
    known = (folder.path / IDF).is_file() or "splade" in folder.name.lower()
    return Match.SURE if known else Match.PERHAPS


FORMS = (
    Form(
        "splade",
        "splade",
        "sparse encoder",
        recognises,
        hint="rename the folder so that its name contains splade",
    ),
)
