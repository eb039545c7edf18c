"""Recognise cross-encoders of sentence-transformers and classifiers of transformers."""

from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.forms import Form, Match


def recognises(folder: ModelFolder) -> Match:
    """Return whether a folder is a cross-encoder's by its type, or a classifier's."""
    plain = not folder.modules and folder.architecture.endswith("ForSequenceClassification")
    return Match.SURE if folder.type == "CrossEncoder" or plain else Match.NO


FORMS = (
    Form(
        "cross_encoder", "cross_encoder", "cross-encoder", recognises, choices=("label", "marking")
    ),
)
