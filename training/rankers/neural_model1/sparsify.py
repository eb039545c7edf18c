"""Sparsify a neural Model 1: compute T(q|d) of all pairs of tokens and drop small values.

Source: Boytsov & Kolter 2021, §3, "Sparsification".
"""

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.corpus.indexing.translation_tables import Translations, as_table
from ranklet.corpus.progress import progress
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.lexical.model1 import TranslationTable
from ranklet.training.rankers.model1.constants import Tables
from ranklet.training.rankers.neural_model1.network import (
    THRESHOLD,
    NetworkTranslation,
    NeuralModel1,
)

MOST_PAIRS = 100_000_000  # maximum size of a table, 800 MB in a bundle
BLOCK = 4096  # query tokens at a time, so that the work fits into the cache


class DenseTableError(InputError):
    """More translations reach a threshold than a table may have."""


def sparsify(
    model: NeuralModel1,
    *,
    threshold: float = THRESHOLD,
    tokens: NDArray[np.integer] | None = None,
    leave_out: Collection[int] = (),
) -> Translations:
    """Compute T(q|d) of every pair of tokens and keep values that reach the threshold.

    There is one matrix product per document token. F1's parts for x_q and x_d are computed once per
    token, and W (x_q ∘ x_d) is (W ∘ x_d) x_q, a product with all query tokens at once. With the
    default sizes a pair costs 12 kFLOP, and all pairs of BERT's vocabulary take minutes.

    Args:
        model: a trained model.
        threshold: smallest T that is kept, in (0, 1].
        tokens: ids to translate from and to, such as the tokens that the network was trained on;
            None for the whole vocabulary. The network's special tokens are left out.
        leave_out: further ids to leave out.

    Returns:
        Translations sorted by (target, source), query token and document token. There are no
        self-translations, because their probability is p_self.

    Raises:
        InputError: the threshold is not a probability, a token is outside of the vocabulary, or the
            network is the cosine variant.
        DenseTableError: there are more than `MOST_PAIRS` pairs.
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold is {threshold!r}; it must be above 0 and at most 1")
    if not isinstance(model.translate, NetworkTranslation):
        raise InputError(
            "the cosine variant cannot be sparsified, because its T(q|d) is near ½ for most pairs; "
            "train with the parametrisation network"
        )
    kept = _tokens(model, tokens, leave_out)
    blocks, most = [], MOST_PAIRS
    with torch.inference_mode():
        parts = Parts.of(model.translate, kept)
        for begin in progress(range(0, len(kept), BLOCK), "translating"):
            blocks.append(_block(parts, begin, logit(threshold), most))
            most -= len(blocks[-1])
    return Translations(
        np.concatenate([np.empty(0, np.int32), *(block.source for block in blocks)]),
        np.concatenate([np.empty(0, np.int32), *(block.target for block in blocks)]),
        np.concatenate([np.empty(0), *(block.probability for block in blocks)]),
    )


def tables(model: NeuralModel1, threshold: float = THRESHOLD) -> Tables:
    """Return a function that computes a query's translations as `sparsify` would keep them.

    Args:
        model: a trained model.
        threshold: smallest T that is kept; 0 keeps all.
    """
    special = [model.network.padding, *model.network.special]

    def table(
        query_tokens: NDArray[np.integer], document_tokens: NDArray[np.integer]
    ) -> TranslationTable:
        targets, sources = (
            np.setdiff1d(tokens, special).astype(np.int32)
            for tokens in (query_tokens, document_tokens)
        )
        device = model.background.device
        with torch.inference_mode():
            translations = model.translation(
                torch.from_numpy(targets).long().to(device),
                torch.from_numpy(sources).long().to(device),
            )
        values = translations.cpu().numpy()  # (targets, sources) float32
        target, source = np.nonzero((values >= threshold) & (targets[:, None] != sources))
        kept = Translations(
            sources[source], targets[target], values[target, source].astype(np.float64)
        )
        return as_table(kept, model.network.vocabulary)

    return table


def logit(probability: float) -> float:
    """Return σ⁻¹(p), infinite for 1; pairs below it need no sigmoid.

    >>> logit(0.5)
    0.0
    """
    return math.log(probability / (1 - probability)) if probability < 1 else math.inf


class Parts(NamedTuple):
    """Values that are computed once per token, and the layers that run for every pair."""

    tokens: NDArray[np.int32]  # ids, ascending, (tokens,)
    x_q: Tensor  # (tokens, vector) float32
    x_d: Tensor  # (tokens, vector) float32
    from_q: Tensor  # F1's part for x_q with the bias, (tokens, hidden) float32
    from_d: Tensor  # F1's part for x_d, (tokens, hidden) float32
    by_product: Tensor  # F1's weights for x_q ∘ x_d, (hidden, vector) float32
    second: nn.Linear
    third: nn.Linear

    @classmethod
    def of(cls, network: NetworkTranslation, tokens: NDArray[np.int32]) -> "Parts":
        """Compute the parts of some tokens."""
        by_query, by_document, by_product = network.first_parts()
        ids = torch.from_numpy(tokens).long().to(by_query.device)
        x_q, x_d = network.query_vectors(ids), network.document_vectors(ids)
        from_q, from_d = x_q @ by_query.T + network.first.bias, x_d @ by_document.T
        return cls(
            tokens, x_q, x_d, from_q, from_d, by_product, network.second, network.third
        )  # fmt: skip


def _block(parts: Parts, begin: int, least: float, most: int) -> Translations:
    """Translate all document tokens into a block of query tokens; keep logits from `least` on."""
    here = slice(begin, begin + BLOCK)
    x_q, from_q = parts.x_q[here], parts.from_q[here]
    second, third = parts.second.weight.T, parts.third.weight[0]
    bias = parts.third.bias
    wide = torch.empty_like(from_q)  # (block, hidden), reused for every document token
    narrow = torch.empty_like(from_q[:, :1]).repeat(1, len(third))  # (block, second hidden)
    positions: list[NDArray[np.int64]] = []  # of query tokens in the block, by document token
    logits: list[NDArray[np.float32]] = []
    pairs = 0
    for document in range(len(parts.tokens)):
        torch.addmm(from_q, x_q, (parts.by_product * parts.x_d[document]).T, out=wide)
        wide.add_(parts.from_d[document]).relu_()
        torch.addmm(parts.second.bias, wide, second, out=narrow)
        logit = torch.mv(narrow.relu_(), third).add_(bias)  # (block,)
        if begin <= document < begin + BLOCK:
            logit[document - begin] = -math.inf  # T(t|t) is p_self
        reached = (logit >= least).nonzero()[:, 0]
        positions.append(reached.cpu().numpy())
        logits.append(logit[reached].cpu().numpy())
        pairs += len(positions[-1])
        if pairs > most:
            raise DenseTableError(
                f"too many translations reach the threshold after {document + 1:,} document "
                "tokens, so the table would not be sparse; raise the threshold or train longer"
            )
    place = np.concatenate(positions)
    order = np.argsort(place, kind="stable")  # keeps document tokens ascending
    document_of = np.repeat(parts.tokens, [len(places) for places in positions])
    values = 1 / (1 + np.exp(-np.concatenate(logits)[order].astype(np.float64)))
    return Translations(document_of[order], parts.tokens[begin + place[order]], values)


def _tokens(
    model: NeuralModel1, tokens: NDArray[np.integer] | None, leave_out: Collection[int]
) -> NDArray[np.int32]:
    size = model.network.vocabulary
    wanted = np.unique(np.arange(size) if tokens is None else tokens)
    if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < size:
        raise InputError(f"a token is not in the network's vocabulary of {size:,} word pieces")
    special = [model.network.padding, *model.network.special, *leave_out]
    return wanted[~np.isin(wanted, special)].astype(np.int32)
