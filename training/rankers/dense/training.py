"""Train a dense encoder, such as RepBERT (Zhan et al. 2020)."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.runtime.rankers.dense import DenseSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.encoder_texts import EncoderTexts
from ranklet.training.encoders.mined_negatives import MinedNegatives
from ranklet.training.encoders.text_pairs import Batch
from ranklet.training.imported.chain import MODULES
from ranklet.training.learning.device import autocast, choose_device
from ranklet.training.learning.losses import in_batch_softmax
from ranklet.training.learning.record import planned
from ranklet.training.learning.weights import load_weights
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.pretrained.start import load_network
from ranklet.training.rankers.dense.importing import import_backbone
from ranklet.training.rankers.dense.network import DenseNetwork
from ranklet.training.rankers.dense.options import KEEP, MINED, Options

SCALE = 20.0  # of cosines in the loss margin, because their differences are small

Weights = Mapping[str, Tensor]


def in_batch_loss(scores: Tensor, relevant: Tensor) -> Tensor:
    """Return the mean over queries of 1/n Σ_i Σ_j max(0, 1 − (s_i − s_j)) (Zhan et al., eq. 4).

    i runs over all documents of the batch that are relevant to the query, j over the others, and n
    is the number of documents in the batch. This is PyTorch's MultiLabelMarginLoss.

    Args:
        scores: inner products, (queries, documents) float32.
        relevant: (queries, documents) bool.
    """
    short = torch.relu(1 - scores.unsqueeze(2) + scores.unsqueeze(1))  # (queries, i, j)
    counted = relevant.unsqueeze(2) & ~relevant.unsqueeze(1)
    return (short * counted).sum((1, 2)).mean() / scores.shape[1]


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Fine-tune an encoder on queries and their relevant documents; see `EncoderTexts`.

    Pooling, similarity, segments, prompts and modules are those of the encoder it starts from,
    unless the options change them.

    Raises:
        InputError: see `EncoderTexts`.
        TrainingError: see `fit`.
    """
    backbone = load_backbone(options.backbone, segments=options.segments == "distinct")
    begin = import_backbone(backbone.folder)
    modules = begin.network.get(MODULES, ()) if begin else ()
    kept = begin.settings if begin else DenseSettings(dimension=backbone.config.hidden_size)
    settings = DenseSettings(
        *options.limits,
        kept.dimension,
        pooling=kept.pooling,
        similarity=kept.similarity if options.similarity == KEEP else options.similarity,
        document_segment=(
            kept.document_segment
            if options.segments == KEEP
            else int(options.segments == "distinct")
        ),
        query_prompt=kept.query_prompt,
        document_prompt=kept.document_prompt,
    )
    prompts = settings.query_prompt, settings.document_prompt
    texts = EncoderTexts(collection, queries, dev, options, backbone, prompts)
    model = DenseNetwork(backbone.model, settings, modules)
    if begin is not None:
        load_weights(model.after, begin.weights, "after.")
    of_queries = partial(texts.encode, model, model.forward, 0)
    of_documents = partial(texts.encode, model, model.forward, settings.document_segment)
    scale, score_loss = 1.0, {"softmax": in_batch_softmax, "margin": in_batch_loss}[options.loss]
    if settings.similarity == "cosine":
        scale = SCALE if options.loss == "margin" else 1 / options.temperature

    def loss(batch: Batch) -> Tensor:
        query_vectors = of_queries(texts.pairs.queries, batch.queries)
        vectors = of_documents(texts.pairs.documents, batch.documents)
        return texts.in_batch(batch, score_loss, scale * query_vectors, vectors)

    def evaluate() -> NDArray[np.float64]:
        return texts.pool_ranks(of_queries, of_documents)

    batches, length = None, options
    if options.negatives == MINED:
        batches = MinedNegatives(
            model,
            texts.pairs,
            of_queries,
            of_documents,
            batches=options.mine_every * options.accumulation,
            among=options.mine_among,
            seed=options.seed,
            precision=partial(autocast, choose_device(options.device), options.mixed_precision),
            folder=options.folder,
            resume=options.resume,
        ).batches
        # The loop counts a part as an epoch, so the length is given in steps.
        steps = planned(options, len(texts.pairs.batches(0))).steps
        length = replace(options, steps=steps, epochs=Options.epochs)
    trained = texts.learn("dense", settings, model, loss, evaluate, batches=batches, options=length)
    return replace(trained, network={**trained.network, MODULES: list(modules)})


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> DenseNetwork:
    """Return the encoder of a checkpoint; see `load_network`."""
    modules = checkpoint.network.get(MODULES, ())
    build = partial(DenseNetwork, settings=checkpoint.settings, modules=modules)
    return load_network(checkpoint, "dense", build, attention, segments=False)
