"""Choose the tokens that tell queries from documents, and give new ones a row of embeddings."""

from typing import TYPE_CHECKING, Any

import torch

from ranklet.training.checkpoint import Checkpoint
from ranklet.training.pretrained.backbone import Backbone

if TYPE_CHECKING:
    from torch import nn

UNUSED = ("[unused0]", "[unused1]")  # in BERT's vocabularies, for queries and documents
NEW = ("[Q]", "[D]")  # added to a vocabulary without them


def marker_tokens(backbone: Backbone, start: Checkpoint | None) -> tuple[str, str]:
    """Return the markers of queries and documents; new ones are added to the backbone in place.

    A start keeps its own. A new marker begins as the mean of all embeddings.
    """
    tokenizer = backbone.tokenizer
    before = (start.settings.query_marker, start.settings.document_marker) if start else ("", "")
    for names in (before, UNUSED, NEW):
        if all(names) and all(tokenizer.token_to_id(name) is not None for name in names):
            return names
    model: Any = backbone.model
    tokenizer.add_special_tokens(list(NEW))
    weights: nn.Embedding = model.get_input_embeddings()
    rows, mean = weights.num_embeddings, weights.weight.detach().mean(0)
    size = tokenizer.get_vocab_size()
    if size > rows:
        model.resize_token_embeddings(size, mean_resizing=False)
        with torch.no_grad():
            model.get_input_embeddings().weight[rows:] = mean
    return NEW
