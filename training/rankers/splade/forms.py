"""Recognise sparse encoders of sentence-transformers, and masked language models that are one."""

from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.forms import Form, Match


def recognises(folder: ModelFolder) -> Match:
    """Return whether a folder is a sparse encoder's.

    A plain masked language model is one if its name says so, and else may be one.
    """
    if folder.type == "SparseEncoder" or "SpladePooling" in folder.module_names:
        return Match.SURE
    if folder.modules or not folder.architecture.endswith("ForMaskedLM"):
        return Match.NO
    return Match.SURE if "splade" in folder.name.lower() else Match.PERHAPS


FORMS = (
    Form(
        "splade",
        "splade",
        "sparse encoder",
        recognises,
        doubt=" if it was trained as one (then let the folder's name contain splade)",
    ),
)
