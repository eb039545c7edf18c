"""Rows of the embedding table for the markers that precise marking adds past the vocabulary."""

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ranklet.runtime.text.marking import added_tokens, marker_name

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MARKERS = "ranklet_markers"  # in config.json: rows that are markers, so that they are made once


def add_marker_rows(encoder: Any, tokenizer: "Tokenizer", strategy: str) -> None:
    """Let the encoder embed a strategy's markers, in place.

    A marker begins as the mean of the word pieces that it is spelled with: [e2] as that of ``[``,
    ``e``, ``##2`` and ``]`` (the paper is silent; so it is in its author's published code).

    Args:
        encoder: a BERT-like model of transformers; its config.json tells the new size.
        tokenizer: its own; it stays as it is, see runtime/text/marking.py.
        strategy: of marking.
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
            spelled = tokenizer.encode(marker_name(marker), add_special_tokens=False).ids
            table.weight[first + marker] = before.weight[spelled].mean(0)
    encoder.set_input_embeddings(table)
    encoder.config.vocab_size = table.num_embeddings
    setattr(encoder.config, MARKERS, count)
