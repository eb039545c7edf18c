"""Cross-encoders: query and document read together, a head on top; trained on BM25's candidates.

Sources: Boytsov & Kolter 2021 (paper 000), §3 and §4.1; MacAvaney et al. 2019 (CEDR); Boualili 2022
(paper 001), chapter 7.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.cross_encoder.ranker import CrossEncoderSettings
from ranklet.runtime.text.pairing import Pair, Pairing, pair_inputs
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import draw_probes
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.retriever import open_bm25
from ranklet.training.indexing.wordpieces import padding_token
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.losses import margin_loss, pointwise_loss
from ranklet.training.learning.plan import Plan
from ranklet.training.learning.weights import load_weights, weights_of
from ranklet.training.pretrained.backbone import Backbone, new_model
from ranklet.training.rankers.cross_encoder.heads import LAYERED, HeadSizes, make_head
from ranklet.training.rankers.cross_encoder.marker_tokens import add_marker_rows
from ranklet.training.rankers.cross_encoder.network import CrossNetwork
from ranklet.training.rankers.cross_encoder.pairs import (
    DEV_CANDIDATES,
    CrossBatch,
    CrossOptions,
    CrossPairs,
    DevPool,
)

# Paper 000, §4.1: one epoch, 2e-5 for the body and 2e-4 for the head, 16 pairs a step, AdamW.
PLAN = Plan(learning_rate=2e-5, head_rate=10.0, epochs=1, warmup=0.1, weight_decay=1e-7,
            accumulation=4)  # fmt: skip
DATA = CrossOptions()
SETTINGS = CrossEncoderSettings()
MARGIN = 1.0
EVALUATIONS = 5  # of a training, unless the plan says how often
SCORED = 32  # chunks at a time, outside of training
HEAD_LAYERS = "ranklet_head_layers"  # in config.json: how many layers the head reads

Loss = Literal["margin", "cross_entropy"]


def train(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    *,
    backbone: Backbone,
    start: Checkpoint | None = None,
    settings: CrossEncoderSettings = SETTINGS,
    plan: Plan = PLAN,
    data: CrossOptions = DATA,
    loss: Loss = "margin",
    layers: int = 0,
    bm25: BM25Settings | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> Checkpoint:
    """Fine-tune an encoder and a head on pairs of a query and a document.

    Args:
        analysed: the collection, with the backbone's word pieces and BM25's field.
        queries: what it learns from.
        dev: other queries; how well some of them are reranked tells which weights are best.
        backbone: what it starts from; its weights are changed.
        start: a cross-encoder whose head is gone on with; `backbone` is then of its folder. So a
            second phase follows a first one, on other data or with other marks (001, §7.4).
        settings: head, chunks and marking.
        plan: how long and how fast.
        data: batches and negatives.
        loss: margin, between a relevant and another document (000, §4.1); or cross_entropy, of
            each document for itself (001, eq. 4.4).
        layers: that a CEDR head compares tokens in, from the last one; 0 for all, the embeddings
            among them.
        bm25: the ranker that gives negatives and candidates; None for the default over lemmas.
        folder: where the state is kept meanwhile.
        resume: whether to go on from the state in `folder`.

    Raises:
        InputError: an option is not allowed, no query has a relevant document here, or the encoder
            reads fewer tokens.
        TrainingError: see `fit`.
    """
    _check(backbone, settings, loss, layers)
    if start is not None:
        _check_start(start, settings)
    tokenizer = backbone.tokenizer
    padding = padding_token(tokenizer)
    pairing = Pairing(settings, tokenizer)
    chosen = bm25 or BM25Settings()
    retriever = open_bm25(chosen, analysed.postings(chosen.field))
    pairs = CrossPairs(analysed, queries, retriever, data, pairing, plan.seed)
    pool = DevPool(analysed, dev, retriever, pairing, seed=plan.seed)
    add_marker_rows(backbone.model, tokenizer, settings.marking)
    read = _layers_read(settings.head, layers, backbone.config.num_hidden_layers)
    with seeded(plan.seed):
        model = _network(backbone.model, settings, read, pairing)
    if start is not None:
        load_weights(model.head, start.weights, "head.")

    def batch_loss(batch: CrossBatch) -> Tensor:
        found = _scores(model, pairs.pairs(batch), padding).reshape(len(batch.queries), -1)
        positive, negative = found[:, :1], found[:, 1:]
        if loss == "margin":
            return margin_loss(positive, negative, MARGIN)
        return pointwise_loss(positive, negative)

    made_of = {
        "backbone": backbone.source, "data": asdict(data), "loss": loss,
        "settings": asdict(settings),
    }  # fmt: skip
    report = learn(
        model, pairs.batches, batch_loss, plan,
        lambda: pool.mrr(lambda given: score_pairs(model, given, padding)),
        evaluations=EVALUATIONS, made_of=made_of, folder=folder, resume=resume,
    )  # fmt: skip
    return Checkpoint(
        "cross_encoder",
        settings,
        tokenizer=tokenizer,
        training={
            "measure": f"MRR@10 of reranking BM25's {DEV_CANDIDATES} and the relevant",
            **report,
        },
        network={**backbone.config_json(), HEAD_LAYERS: read},
        weights=weights_of(model),
        probes=draw_probes(analysed.listed(), dev, titles=analysed.titles),
    )


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> CrossNetwork:
    """Return the network of a checkpoint, in evaluation mode.

    Args:
        checkpoint: of this kind.
        attention: how transformers computes it: sdpa, or eager, which export needs.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    if checkpoint.kind != "cross_encoder" or not checkpoint.weights or checkpoint.tokenizer is None:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no cross-encoder")
    config = dict(checkpoint.network)
    read = config.pop(HEAD_LAYERS, None)
    if type(read) is not int or read < 1:
        raise InputError(f"config.json: {HEAD_LAYERS} is {read!r}; it must be a number from 1")
    encoder = new_model(config, attention)
    pairing = Pairing(checkpoint.settings, checkpoint.tokenizer)
    model = _network(encoder, checkpoint.settings, read, pairing)
    load_weights(model, checkpoint.weights)
    return model.eval()


def score_pairs(model: CrossNetwork, pairs: Sequence[Pair], padding: int) -> NDArray[np.float32]:
    """Return the scores of some pairs, (pairs,) float32; those of like length are run together.

    Args:
        model: in evaluation mode; the caller says whether gradients and autocast are on.
        pairs: of any number of chunks.
        padding: the id of [PAD].
    """
    if not pairs:
        return np.zeros(0, np.float32)
    lengths = [max(len(row.ids) for row in pair.rows) for pair in pairs]
    order = np.argsort(lengths, kind="stable")
    each = max(1, SCORED // max(len(pair.rows) for pair in pairs))
    parts = [order[at : at + each] for at in range(0, len(order), each)]
    found = [_scores(model, [pairs[at] for at in part], padding).cpu().numpy() for part in parts]
    by_length: NDArray[np.float32] = np.concatenate(found)
    return by_length[np.argsort(order)]


def _scores(model: CrossNetwork, pairs: Sequence[Pair], padding: int) -> Tensor:
    """Return the scores of a batch, (pairs,) float32."""
    device = model.special.device
    inputs = pair_inputs([pair.rows for pair in pairs], padding).values()
    found: Tensor = model(*(torch.from_numpy(each).to(device) for each in inputs))
    return found


def _network(
    encoder: Any, settings: CrossEncoderSettings, layers: int, pairing: Pairing
) -> CrossNetwork:
    sizes = HeadSizes(encoder.config.hidden_size, layers, settings.own_query_tokens)
    head: nn.Module = make_head(settings.head, sizes)
    return CrossNetwork(
        encoder, head, layers, settings.combine, pairing.special, pairing.marker.tokens
    )


def _layers_read(head: str, layers: int, held: int) -> int:
    """Return how many layers the head reads; the embeddings count as one."""
    if head not in LAYERED:
        return 1
    return layers or held + 1


def _check_start(start: Checkpoint, settings: CrossEncoderSettings) -> None:
    if start.kind != "cross_encoder":
        raise InputError(f"a second phase starts from a cross-encoder, not from a {start.kind}")
    if start.settings.head != settings.head:
        raise InputError(
            f"the cross-encoder to start from has the head {start.settings.head}, and "
            f"{settings.head} is asked for: a second phase keeps it. As a backbone a cross-encoder "
            "may get any head"
        )


def _check(backbone: Backbone, settings: CrossEncoderSettings, loss: str, layers: int) -> None:
    config = backbone.config
    if loss not in get_args(Loss):
        raise InputError(f"loss is {loss!r}; allowed are {', '.join(get_args(Loss))}")
    if loss == "cross_entropy" and settings.head == "model1":
        raise InputError(
            "the loss cross_entropy wants scores of either sign, and those of the head model1 are "
            "logarithms of probabilities; take the loss margin"
        )
    if not 0 <= layers <= config.num_hidden_layers + 1:
        raise InputError(
            f"layers is {layers}; {backbone.source!r} has {config.num_hidden_layers}, and the "
            "embeddings before them"
        )
    if settings.max_tokens > config.max_position_embeddings:
        raise InputError(
            f"sequences of {settings.max_tokens} tokens are too long for {backbone.source!r}, "
            f"which reads {config.max_position_embeddings}"
        )
