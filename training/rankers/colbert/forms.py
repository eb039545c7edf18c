"""Recognise late-interaction models of PyLate, sentence-transformers and colbert-ir."""

from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.forms import Form, Match

TYPES = ("ColBERT", "MultiVectorEncoder")  # PyLate's and sentence-transformers' names of models


def recognises(folder: ModelFolder) -> Match:
    """Return whether a folder is a late-interaction model's by its type or its architecture."""
    known = folder.type in TYPES or folder.architecture == "HF_ColBERT"
    return Match.SURE if known else Match.NO


FORMS = (Form("colbert", "colbert", "late-interaction encoder", recognises),)
