"""RepBERT: a text's vector is the mean of BERT's last layer; training with in-batch negatives.

Source: Zhan et al. 2020 (paper 004).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.repbert import DOCUMENT_SEGMENT, QUERY_SEGMENT, RepBERTSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.probes import draw_probes
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.wordpieces import padding_token
from ranklet.training.learning.device import full_precision
from ranklet.training.learning.loop import learn
from ranklet.training.learning.text_pairs import (
    Batch,
    Padded,
    Pool,
    TextPairs,
    Tokens,
    tokenise,
)
from ranklet.training.learning.weights import load_weights, weights_of
from ranklet.training.pretrained.backbone import load_backbone, new_model
from ranklet.training.rankers.repbert.options import Options

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ENCODED = 32  # texts at a time, outside of training


class RepBERT(nn.Module):
    """Texts to vectors: the mean of the last layer over the input's tokens (paper 004, eq. 2).

    [CLS] and [SEP] count as the others do. Queries and documents share all weights and differ in
    token_type_ids.

    Args:
        encoder: a BERT-like model of transformers.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the vectors, (batch, dimension) float32.

        Args:
            input_ids: (batch, tokens) int64.
            attention_mask: (batch, tokens) int64, 1 at tokens and 0 at padding.
            token_type_ids: (batch, tokens) int64, 0 in queries and 1 in documents.
        """
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state  # (batch, tokens, dimension)
        return masked_mean(states.float(), attention_mask)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean over unmasked tokens, (batch, dimension) (paper 004, eq. 2).

    Args:
        states: (batch, tokens, dimension) float32.
        mask: (batch, tokens) int64, 1 at tokens and 0 at padding.
    """
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def in_batch_loss(scores: Tensor, relevant: Tensor) -> Tensor:
    """Return the mean over queries of 1/n Σ_i Σ_j max(0, 1 − (s_i − s_j)) (paper 004, eq. 4).

    i runs over the query's relevant documents in the batch, whoever's pair brought them in; j over
    the others; n is the number of documents in the batch. It is MultiLabelMarginLoss.

    Args:
        scores: inner products, (queries, documents) float32.
        relevant: (queries, documents) bool.
    """
    short = torch.relu(1 - scores.unsqueeze(2) + scores.unsqueeze(1))  # (queries, i, j)
    counted = relevant.unsqueeze(2) & ~relevant.unsqueeze(1)
    return (short * counted).sum((1, 2)).mean() / scores.shape[1]


def encode_tokens(
    tokenizer: "Tokenizer", texts: Sequence[str], max_tokens: int, segment: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return input_ids, attention_mask, token_type_ids, (texts, tokens) int64 each.

    Args:
        tokenizer: which adds [CLS] and [SEP].
        texts: what is longer than `max_tokens` is cut at its end, [SEP] kept.
        max_tokens: [CLS] and [SEP] counted.
        segment: 0 for queries, 1 for documents.
    """
    tokens = tokenise(tokenizer, texts, max_tokens)
    return _inputs(tokens.padded(np.arange(len(texts)), padding_token(tokenizer)), segment)


def _inputs(padded: Padded, segment: int) -> tuple[Tensor, Tensor, Tensor]:
    ids, mask = (torch.from_numpy(each) for each in padded)
    return ids, mask, mask * segment


def train(
    collection: Collection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    options: Options,
) -> Checkpoint:
    """Fine-tune an encoder on queries and their relevant documents.

    Args:
        collection: the documents.
        queries: what it learns from.
        dev: other queries; how well some of them find their documents in a pool decides which
            weights are best.
        options: of RepBERT.

    Raises:
        InputError: no query has a relevant document here, or the encoder reads fewer tokens.
        TrainingError: see `fit`.
    """
    backbone = load_backbone(options.backbone)
    backbone.check_length(max(options.max_query_tokens, options.max_document_tokens))
    padding = padding_token(backbone.tokenizer)
    documents = list(collection.documents())
    pairs = TextPairs(documents, queries, backbone.tokenizer, options)
    pool = Pool(pairs, dev, seed=options.seed)
    model = RepBERT(backbone.model)

    def vectors(padded: Padded, segment: int) -> Tensor:
        device = next(model.parameters()).device
        found: Tensor = model(*(each.to(device) for each in _inputs(padded, segment)))
        return found

    def loss(batch: Batch) -> Tensor:
        asked = vectors(pairs.queries.padded(batch.queries, padding), QUERY_SEGMENT)
        held = vectors(pairs.documents.padded(batch.documents, padding), DOCUMENT_SEGMENT)
        relevant = torch.from_numpy(pairs.relevant(batch)).to(asked.device)
        with full_precision(asked.device):  # bfloat16 knows 3 digits: the margin is lost in it
            return in_batch_loss(asked.float() @ held.float().T, relevant)

    def evaluate() -> float:
        def encode(tokens: Tokens, segment: int) -> NDArray[np.float32]:
            return _encode_all(tokens, padding, lambda padded: vectors(padded, segment))

        return pool.mrr(
            encode(pool.queries, QUERY_SEGMENT), encode(pool.documents, DOCUMENT_SEGMENT)
        )

    made_of = {"backbone": backbone.source}
    report = learn(model, pairs.batches, loss, options, evaluate, made_of=made_of)
    return Checkpoint(
        "repbert",
        RepBERTSettings(
            options.max_query_tokens, options.max_document_tokens, backbone.config.hidden_size
        ),
        tokenizer=backbone.tokenizer,
        training={"measure": f"MRR@10 in a pool of {len(pool)} documents", **report},
        network=backbone.config_json(),
        weights=weights_of(model),
        probes=draw_probes(documents, dev, titles=options.titles),
    )


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> RepBERT:
    """Return the encoder of a checkpoint, in evaluation mode.

    Args:
        checkpoint: of this kind.
        attention: how transformers computes it: sdpa, or eager, which export needs.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    if checkpoint.kind != "repbert" or not checkpoint.weights:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no RepBERT")
    model = RepBERT(new_model(checkpoint.network, attention))
    load_weights(model, checkpoint.weights)
    return model.eval()


def _encode_all(
    tokens: Tokens, padding: int, vectors: Callable[[Padded], Tensor]
) -> NDArray[np.float32]:
    """Return the vectors of all texts, (texts, dimension); those of like length run together."""
    order = np.argsort(tokens.lengths, kind="stable")
    rows = [order[begin : begin + ENCODED] for begin in range(0, len(order), ENCODED)]
    found = [vectors(tokens.padded(each, padding)).cpu().numpy() for each in rows]
    by_length: NDArray[np.float32] = np.concatenate(found)
    return by_length[np.argsort(order)]
