"""EPIC: sparse vectors of contextual importance and expansion, learned from triples.

Source: MacAvaney et al. 2020 (paper 003).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.epic import DOCUMENT_ENCODER, QUERY_ENCODER, EPICSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.probes import draw_probes
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.wordpieces import padding_token, special_tokens
from ranklet.training.learning.device import full_precision, seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.losses import in_batch_softmax, listwise_loss
from ranklet.training.learning.text_pairs import Batch, Padded, Pool, TextPairs
from ranklet.training.learning.weights import load_weights, weights_of
from ranklet.training.pretrained.backbone import Backbone, new_model
from ranklet.training.pretrained.start import load_start
from ranklet.training.rankers.epic.expansion import expansion_start
from ranklet.training.rankers.epic.network import EPIC, EPICHead
from ranklet.training.rankers.epic.options import Options

ENCODED = 32  # texts at a time, outside of training


def train(
    collection: Collection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    options: Options,
) -> Checkpoint:
    """Fine-tune an encoder, and what EPIC adds to it, on triples.

    Args:
        collection: the documents.
        queries: what it learns from.
        dev: other queries; how well some of them find their documents in a pool decides which
            weights are best.
        options: of EPIC.

    Raises:
        InputError: no query has a relevant document here, the encoder reads fewer tokens, its
            vocabulary is past 16 bits, or the start is no EPIC of this size.
        TrainingError: see `fit`.
    """
    backbone, start = load_start(options, "epic")
    tokenizer, padding = backbone.tokenizer, padding_token(backbone.tokenizer)
    backbone.check_length(max(options.max_query_tokens, options.max_document_tokens))
    settings = EPICSettings(
        options.max_query_tokens, options.max_document_tokens, backbone.config.vocab_size
    )
    documents = list(collection.documents())
    pairs = TextPairs(documents, queries, tokenizer, options)
    pool = Pool(pairs, dev, seed=options.seed)
    with seeded(options.seed):
        model = EPIC(backbone.model, _head(backbone.config, special_tokens(tokenizer)))
    started_from = _begin(model.head, backbone, start)

    def inputs(padded: Padded, segment: int) -> tuple[Tensor, Tensor, Tensor]:
        device = model.head.is_term.device
        ids, mask = (torch.from_numpy(each).to(device) for each in padded)
        return ids, mask, mask * segment

    def of_queries(padded: Padded, terms: NDArray[np.int64]) -> Tensor:
        """Return φ_q at some terms, which hold all of the queries', (queries, terms)."""
        weights = model.query(*inputs(padded, QUERY_ENCODER.segment))
        place = torch.from_numpy(np.searchsorted(terms, padded[0])).to(weights.device)
        empty = torch.zeros((len(weights), len(terms)), device=weights.device)
        return empty.scatter_add(1, place, weights.float())

    def of_documents(padded: Padded, terms: NDArray[np.int64]) -> Tensor:
        """Return φ_d at some terms, (documents, terms)."""
        asked = torch.from_numpy(terms).to(model.head.is_term.device)
        return model.document(*inputs(padded, DOCUMENT_ENCODER.segment), asked).float()

    def loss(batch: Batch) -> Tensor:
        asked = pairs.queries.padded(batch.queries, padding)
        terms = np.unique(asked[0])
        of_query = of_queries(asked, terms)
        held = of_documents(pairs.documents.padded(batch.documents, padding), terms)
        with full_precision(held.device):
            scores = of_query @ held.T
            if options.pairwise:
                pair = scores.diagonal(), scores[:, len(batch.queries) :].diagonal()
                return listwise_loss(torch.stack(pair, dim=1), 1.0)
            relevant = torch.from_numpy(pairs.relevant(batch)).to(held.device)
            return in_batch_softmax(scores, relevant)

    def evaluate() -> float:
        terms = np.unique(np.append(pool.queries.ids, padding))
        each = [np.arange(at, min(at + ENCODED, len(pool))) for at in range(0, len(pool), ENCODED)]
        held = [of_documents(pool.documents.padded(rows, padding), terms).cpu() for rows in each]
        everybody = np.arange(len(pool.queries.lengths))
        asked = of_queries(pool.queries.padded(everybody, padding), terms)
        return pool.mrr(asked.cpu().numpy(), torch.cat(held).numpy())

    report = learn(
        model, pairs.batches, loss, options, evaluate, made_of={"backbone": backbone.source},
        label=f"training (expansion began with {started_from})",
    )  # fmt: skip
    return Checkpoint(
        "epic",
        settings,
        tokenizer=tokenizer,
        training={
            "measure": f"MRR@10 in a pool of {len(pool)} documents",
            **report,
            "expansion": started_from,
        },
        network=backbone.config_json(),
        weights=weights_of(model),
        probes=draw_probes(documents, dev, titles=options.titles),
    )


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> EPIC:
    """Return the network of a checkpoint, in evaluation mode.

    Args:
        checkpoint: of this kind.
        attention: how transformers computes it: sdpa, or eager, which export needs.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    if checkpoint.kind != "epic" or not checkpoint.weights or checkpoint.tokenizer is None:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no EPIC")
    encoder: Any = new_model(checkpoint.network, attention)
    model = EPIC(encoder, _head(encoder.config, special_tokens(checkpoint.tokenizer)))
    load_weights(model, checkpoint.weights)
    return model.eval()


def _begin(head: EPICHead, backbone: Backbone, start: Checkpoint | None) -> str:
    """Give the head what its expansion, or all of it, begins with; returns where that is from."""
    if start is not None:
        load_weights(head, start.weights, "head.")
        return "that of the checkpoint gone on with"
    expansion, told = expansion_start(backbone)
    with torch.no_grad():
        head.expansion.weight.copy_(torch.from_numpy(expansion))
    return told


def _head(config: Any, special: Sequence[int]) -> EPICHead:
    return EPICHead(config.hidden_size, config.vocab_size, special)
