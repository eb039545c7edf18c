"""Train cross-encoders, which read query and document together, on candidates from BM25.

Sources: Boytsov & Kolter 2021, §3 and §4.1; MacAvaney et al. 2019 (CEDR); Boualili 2022, chapter 7.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.probes import draw_probes
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.indexing.analysed import analyse
from ranklet.corpus.indexing.ragged import by_length
from ranklet.corpus.indexing.wordpieces import padding_token
from ranklet.corpus.progress import EVALUATING
from ranklet.runtime.answers.console import suggest_command
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.cross_encoder.ranker import IMPORTED, CrossEncoderSettings
from ranklet.runtime.text.pairing import Pair, Pairing, pair_inputs
from ranklet.training.checkpoint import RANKLET, Checkpoint
from ranklet.training.distilling.margins import read_margins
from ranklet.training.distilling.taught import read_taught
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.losses import listwise_loss, margin_loss, pointwise_loss
from ranklet.training.learning.weights import check_kind, load_trained, load_weights, take_weights
from ranklet.training.outcome import counts
from ranklet.training.pretrained.backbone import Backbone
from ranklet.training.pretrained.start import load_network, load_start
from ranklet.training.rankers.cross_encoder.classifier import (
    PairClassifier,
    is_classifier,
    new_classifier,
)
from ranklet.training.rankers.cross_encoder.heads import LAYERED, HeadSizes, make_head
from ranklet.training.rankers.cross_encoder.marker_tokens import add_marker_rows
from ranklet.training.rankers.cross_encoder.network import CrossNetwork
from ranklet.training.rankers.cross_encoder.options import PASSAGES, Options
from ranklet.training.rankers.cross_encoder.pairs import CrossPairs, dev_pairs
from ranklet.training.sampling.batches import Batch
from ranklet.training.sampling.dev_candidates import CandidateLists

_log = logging.getLogger(__name__)

MARGIN = 1.0
SCORED = 32  # chunks per batch outside of training
HEAD_LAYERS = "ranklet_head_layers"  # key in config.json: number of layers that the head reads


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Fine-tune an encoder and a head on pairs of a query and a document.

    The best weights are those that rerank some of `dev` best. With a start, its head is trained
    further, in a second phase on other data or with other marks (Boualili, §7.4).

    Raises:
        InputError: an option does not fit the encoder or the start, or no query has a relevant
            document in the collection.
        TrainingError: see `fit`.
    """
    settings, (backbone, start) = options.settings, load_start(options, "cross_encoder")
    _check(backbone, start, options)
    tokenizer = backbone.tokenizer
    padding = padding_token(tokenizer)
    pairing = Pairing(settings, tokenizer)
    analysed = analyse(
        collection.documents(), ["wordpieces", options.bm25.field],
        tokenizer=tokenizer, titles=options.titles,
    )  # fmt: skip
    retriever = analysed.bm25(options.bm25)
    taught_queries = read_taught(options, collection, queries)
    margins = read_margins(taught_queries, options)
    pairs = CrossPairs(analysed, queries, retriever, options, pairing, taught_queries)
    lists = CandidateLists(analysed, dev, retriever, options)
    measured = dev_pairs(lists, analysed, pairing)
    add_marker_rows(backbone.model, tokenizer, settings.marking)
    read = _layers_read(settings.head, options.layers, backbone.config.num_hidden_layers)
    with seeded(options.seed):
        model = _network(backbone.model, settings, read, pairing)
    if start is not None:
        load_weights(model.head, start.weights, "head.")

    def passage_loss(batch: Batch) -> Tensor:
        made, relevant = pairs.passages(batch)
        scores, label = _scores(model, made, padding), torch.from_numpy(relevant)
        return pointwise_loss(scores[label], scores[~label])

    def batch_loss(batch: Batch) -> Tensor:
        if options.learn_from == PASSAGES:
            return passage_loss(batch)
        scores = _scores(model, pairs.pairs(batch), padding).reshape(len(batch.queries), -1)
        if margins is not None:
            return margins.loss(batch.queries, batch.documents, scores.float())
        positive, negative = scores[:, :1], scores[:, 1:]
        if options.loss == "margin":
            return margin_loss(positive, negative, MARGIN)
        if options.loss == "softmax":
            return listwise_loss(scores.float(), 1.0)
        return pointwise_loss(positive, negative)

    learned = learn(
        model, pairs.batches, batch_loss, options,
        lambda: lists.reciprocal_ranks(score_pairs(model, measured, padding, EVALUATING)),
        lists.measured,
        made_of={"backbone": backbone.source, **(margins.made_of if margins else {})},
    )  # fmt: skip
    return Checkpoint(
        "cross_encoder",
        settings,
        tokenizer=tokenizer,
        training={**counts(len(analysed.documents), queries, dev), **learned.report},
        curve=learned.curve,
        network={**backbone.config_json(), HEAD_LAYERS: read},
        weights=take_weights(model),
        probes=draw_probes(analysed.listed(), dev, titles=options.titles),
    )


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> CrossNetwork:
    """Return the network of a trained checkpoint; see `load_network`."""

    def build(encoder: Any) -> CrossNetwork:
        read = checkpoint.network.get(HEAD_LAYERS)
        if type(read) is not int or read < 1:
            raise InputError(f"config.json: {HEAD_LAYERS} is {read!r}; it must be a number from 1")
        pairing = Pairing(checkpoint.settings, checkpoint.need_tokenizer())
        return _network(encoder, checkpoint.settings, read, pairing)

    return load_network(checkpoint, "cross_encoder", build, attention)


def load_any(checkpoint: Checkpoint, *, attention: str = "sdpa") -> CrossNetwork | PairClassifier:
    """Return the network of a checkpoint, trained or imported; see `load_network`."""
    if checkpoint.settings.head != IMPORTED:
        return load(checkpoint, attention=attention)
    check_kind(checkpoint, "cross_encoder")
    return load_trained(new_classifier(checkpoint.network, attention), checkpoint.weights)


def score_pairs(
    model: CrossNetwork | PairClassifier,
    pairs: Sequence[Pair],
    padding: int,
    label: str | None = None,
) -> NDArray[np.float32]:
    """Return the scores of pairs, (pairs,) float32; the caller sets gradients and autocast.

    Without a label there is no progress bar.
    """

    def run(block: NDArray[np.intp]) -> NDArray[np.float32]:
        return _scores(model, [pairs[at] for at in block], padding).float().cpu().numpy()

    if not pairs:
        return np.zeros(0, np.float32)
    lengths = np.array([max(len(row.ids) for row in pair.rows) for pair in pairs])
    size = max(1, SCORED // max(len(pair.rows) for pair in pairs))
    return by_length(lengths, size, run, label)


def _scores(model: CrossNetwork | PairClassifier, pairs: Sequence[Pair], padding: int) -> Tensor:
    """Return the scores of a batch, (pairs,) float32."""
    device = next(model.parameters()).device
    inputs = pair_inputs([pair.rows for pair in pairs], padding).values()
    scores: Tensor = model(*(torch.from_numpy(array).to(device) for array in inputs))
    return scores


def _network(
    encoder: Any, settings: CrossEncoderSettings, layers: int, pairing: Pairing
) -> CrossNetwork:
    sizes = HeadSizes(encoder.config.hidden_size, layers, settings.own_query_tokens)
    head: nn.Module = make_head(settings.head, sizes)
    return CrossNetwork(
        encoder, head, layers, settings.combine, pairing.special, pairing.marker.tokens
    )


def _layers_read(head: str, layers: int, encoder_layers: int) -> int:
    """Return how many layers the head reads; the embeddings count as a layer."""
    if head not in LAYERED:
        return 1
    return layers or encoder_layers + 1


def _check(backbone: Backbone, start: Checkpoint | None, options: Options) -> None:
    """Raise InputError if an option does not fit the encoder or the start."""
    settings, config, layers = options.settings, backbone.config, options.layers
    if start is not None and start.settings.head != settings.head:
        raise InputError(
            f"the checkpoint to start from has the head {start.settings.head}, not "
            f"{settings.head}, and a second phase keeps the head; for another head give the "
            "checkpoint as --backbone"
        )
    if not 0 <= layers <= config.num_hidden_layers + 1:
        raise InputError(
            f"layers is {layers}; {backbone.source!r} has {config.num_hidden_layers} layers and "
            "the embeddings, so allowed are 0 (all) to "
            f"{config.num_hidden_layers + 1}"
        )
    backbone.check_length(settings.longest)
    if is_classifier(backbone.config_json()) and not (backbone.folder / RANKLET).is_file():
        _log.warning(
            "%r is a cross-encoder, but training replaces its trained head by a new one; to keep "
            "it, export the folder without training: %s",
            backbone.source, suggest_command("export", backbone.folder, output="BUNDLE"),
        )  # fmt: skip
