"""SPLADE: sparse vectors of a masked language model, learned from triples with a FLOPS penalty.

Source: Formal et al. 2021, "SPLADE v2" (arXiv 2109.10086).
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.corpus.indexing.wordpieces import special_tokens
from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.rankers.splade import ENCODER, SPLADESettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.encoders.encoder_texts import EncoderTexts
from ranklet.training.encoders.text_pairs import Batch
from ranklet.training.learning.losses import in_batch_softmax
from ranklet.training.learning.record import planned
from ranklet.training.learning.weights import load_weights
from ranklet.training.pretrained.start import begin_sparse, load_network, load_start
from ranklet.training.rankers.splade.network import SPLADE, flops
from ranklet.training.rankers.splade.options import Options

RAMP = 1 / 3  # share of the training in which the penalty grows
FIRST_SHARE = 0.05  # share of the documents that has a term at first


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Fine-tune a masked language model, which may be a SPLADE; see `EncoderTexts`.

    Raises:
        InputError: as `EncoderTexts`; the start is no SPLADE.
        TrainingError: see `fit`.
    """
    backbone, start = load_start(options, "splade", masked=True, segments=False)
    vocabulary = backbone.config.vocab_size
    settings = SPLADESettings(*options.limits, vocabulary, queries=options.queries)
    texts = EncoderTexts(collection, queries, dev, options, backbone)
    model = SPLADE(backbone.model, settings)
    if model.head is not None:
        model.head.weight.requires_grad = options.queries == "learned"
        documents = texts.pairs.documents
        weights = idf(documents.frequencies(vocabulary), len(documents.lengths))
        weights[list(special_tokens(backbone.tokenizer))] = 0
        with torch.no_grad():
            model.head.weight.copy_(torch.from_numpy(weights).unsqueeze(1))
        if start is not None and start.settings.queries == options.queries:
            load_weights(model.head, start.weights, "head.")
    of_queries = partial(texts.encode, model, model.queries, ENCODER.segment)
    of_documents = partial(texts.encode, model, model.forward, ENCODER.segment)
    if start is None and not backbone.predicts:
        bias = model.encoder.get_output_embeddings().bias
        begin_sparse(bias, torch.expm1(texts.sample(of_documents)), FIRST_SHARE)

    def batches(epoch: int) -> list[tuple[Batch, float]]:
        """Return an epoch's batches, each with its share of λ, which grows as time² (§4.1)."""
        of_epoch = texts.pairs.batches(epoch)
        length = planned(options, len(of_epoch))
        done = (epoch + np.arange(len(of_epoch)) / len(of_epoch)) / length.epochs
        return list(zip(of_epoch, np.minimum(1, done / RAMP) ** 2, strict=True))

    def loss(batch_and_share: tuple[Batch, float]) -> Tensor:
        batch, share = batch_and_share
        query_vectors = of_queries(texts.pairs.queries, batch.queries)
        vectors = of_documents(texts.pairs.documents, batch.documents)
        ranking = texts.in_batch(batch, in_batch_softmax, query_vectors, vectors)
        density = options.sparse_documents * flops(vectors)
        if model.head is None:
            density = density + options.sparse_queries * flops(query_vectors)
        return ranking + share * density

    evaluate = partial(texts.pool_ranks, of_queries, of_documents)
    return texts.learn("splade", settings, model, loss, evaluate, batches=batches)


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> SPLADE:
    """Return the network of a checkpoint; see `load_network`."""
    build = partial(SPLADE, settings=checkpoint.settings)
    return load_network(checkpoint, "splade", build, attention, masked=True, segments=False)
