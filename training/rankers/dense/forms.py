"""Recognise sentence encoders, plain encoders, and static embeddings."""

from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.forms import Form, Match


def is_static(folder: ModelFolder) -> bool:
    """Return whether a folder has one vector per token and no network.

    It is one of StaticEmbedding of sentence-transformers, or one of model2vec.
    """
    if folder.modules:
        return "StaticEmbedding" in folder.module_names
    return folder.architecture == "StaticModel"


# Every encoder has vectors of tokens, whose mean can be compared.
ENCODER = Form(
    "dense",
    "dense",
    "dense encoder",
    recognises=lambda _: Match.PERHAPS,
    choices=("dimension", "query_prompt", "document_prompt"),
)
STATIC = Form(
    "dense",
    "static",
    "static embeddings",
    recognises=lambda folder: Match.SURE if is_static(folder) else Match.NO,
    choices=("dimension",),
    settings={"encoder": "table"},
    network=False,
    module="static",
)
FORMS = (ENCODER, STATIC)
