"""Add rows to the embedding table for the markers of precise marking."""

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ranklet.runtime.text.marking import added_tokens, marker_name
from ranklet.runtime.text.tokenizing import encode

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MARKERS = "ranklet_markers"  # key in config.json: number of rows that are markers


def add_marker_rows(encoder: Any, tokenizer: "Tokenizer", strategy: str) -> None:
    """Add the markers of a strategy to an encoder's embeddings, in place.

    A marker starts as the mean of the word pieces that spell it: [e2] as the mean of ``[``, ``e``,
    ``##2`` and ``]``. The paper does not say how; its author's published code does this.

    Args:
        encoder: a BERT-like model of transformers, whose config gets the new size.
        tokenizer: the encoder's tokenizer, which does not change (see runtime/text/marking.py).
        strategy: the marking strategy.
    """
    count = added_tokens(strategy)
    if getattr(encoder.config, MARKERS, 0) >= count:
        return
    before: nn.Embedding = encoder.get_input_embeddings()
    first = tokenizer.get_vocab_size()
    rows = first + count
    table = nn.Embedding(max(rows, before.num_embeddings), before.embedding_dim, before.padding_idx)
    with torch.no_grad():
        table.weight.copy_(before.weight.mean(0).expand_as(table.weight))
        table.weight[: before.num_embeddings] = before.weight
        for marker in range(count):
            spelled = encode(tokenizer, marker_name(marker)).ids
            table.weight[first + marker] = before.weight[spelled].mean(0)
    encoder.set_input_embeddings(table)
    encoder.config.vocab_size = table.num_embeddings
    setattr(encoder.config, MARKERS, count)
