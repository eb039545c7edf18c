"""SPLADE: sparse vectors of a masked language model, learned from triples with a FLOPS penalty.

Source: Formal et al. 2021, "SPLADE v2" (arXiv 2109.10086).
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.rankers.splade import ENCODER, SPLADESettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.wordpieces import special_tokens
from ranklet.training.learning.device import full_precision
from ranklet.training.learning.losses import in_batch_softmax
from ranklet.training.learning.weights import check_kind, load_weights
from ranklet.training.pretrained.backbone import new_model
from ranklet.training.pretrained.start import load_start
from ranklet.training.rankers.splade.network import SPLADE, flops
from ranklet.training.rankers.splade.options import Options
from ranklet.training.sampling.encoder_texts import ENCODED, EncoderTexts
from ranklet.training.sampling.text_pairs import Batch

RAMP = 1 / 3  # share of the training in which the penalty grows
SAMPLED, HAVING = 256, 0.05  # documents of a sample, and the share that has a term at first


def train(
    collection: Collection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    options: Options,
) -> Checkpoint:
    """Fine-tune a masked language model, which may be a SPLADE; see `EncoderTexts`.

    Raises:
        InputError: as `EncoderTexts`; the vocabulary is past 16 bits, or the start is no SPLADE.
        TrainingError: see `fit`.
    """
    backbone, start = load_start(options, "splade", masked=True)
    limits = options.max_query_tokens, options.max_document_tokens
    settings = SPLADESettings(*limits, backbone.config.vocab_size, queries=options.queries)
    texts = EncoderTexts(collection, queries, dev, options, backbone)
    model = SPLADE(backbone.model, settings)
    if model.head is not None:
        model.head.weight.requires_grad = options.queries == "learned"
        documents = texts.pairs.documents
        weights = idf(documents.frequencies(settings.vocabulary), len(documents.lengths))
        weights[list(special_tokens(backbone.tokenizer))] = 0
        with torch.no_grad():
            model.head.weight.copy_(torch.from_numpy(weights).unsqueeze(1))
        if start is not None and start.settings.queries == options.queries:
            load_weights(model.head, start.weights, "head.")
    if start is None and backbone.prediction is None:
        _begin_sparse(model, texts)
    of_queries = partial(texts.encode, model, model.queries, ENCODER.segment)
    of_documents = partial(texts.encode, model, model.forward, ENCODER.segment)

    def batches(epoch: int) -> list[tuple[Batch, float]]:
        """Return the batches of an epoch, and the share of λ that counts in each.

        As in the paper (§4.1), the share grows with the square of time, and then stays.
        """
        of_epoch = texts.pairs.batches(epoch)
        done = (epoch + np.arange(len(of_epoch)) / len(of_epoch)) / options.epochs
        return list(zip(of_epoch, np.minimum(1, done / RAMP) ** 2, strict=True))

    def loss(batch_and_share: tuple[Batch, float]) -> Tensor:
        batch, share = batch_and_share
        query_vectors = of_queries(texts.pairs.queries, batch.queries)
        vectors = of_documents(texts.pairs.documents, batch.documents)
        with full_precision(vectors.device):
            relevant = torch.from_numpy(texts.pairs.relevant(batch)).to(vectors.device)
            ranking = in_batch_softmax(query_vectors @ vectors.T, relevant)
        density = options.sparse_documents * flops(vectors)
        if model.head is None:
            density = density + options.sparse_queries * flops(query_vectors)
        return ranking + share * density

    evaluate = partial(texts.pool_mrr, of_queries, of_documents)
    return texts.learn("splade", settings, model, loss, evaluate, batches=batches)


def load(checkpoint: Checkpoint, *, attention: str = "sdpa") -> SPLADE:
    """Return the network of a checkpoint, in evaluation mode; for `attention` see `new_model`.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    check_kind(checkpoint, "splade", "SPLADE")
    encoder = new_model(checkpoint.network, attention, masked=True)
    model = SPLADE(encoder, checkpoint.settings)
    load_weights(model, checkpoint.weights)
    return model.eval()


def _begin_sparse(model: SPLADE, texts: EncoderTexts) -> None:
    """Lower the bias of each term until few documents have the term.

    An encoder that has learned no predictions gives every document nearly all terms, and ranks by
    what all of them share: of 60 queries MRR@10 is .22 with untouched biases, .84 so (docs/LOG.md).
    """
    documents = texts.pool.documents
    encode = partial(texts.encode, model, model.forward, ENCODER.segment)
    rows = np.arange(len(documents.lengths))[:: max(1, len(documents.lengths) // SAMPLED)]
    blocks = np.array_split(rows, math.ceil(len(rows) / ENCODED))
    with torch.no_grad():
        weights = torch.cat([encode(documents, r) for r in blocks])
        logits = torch.expm1(torch.quantile(weights, 1 - HAVING, dim=0))
        model.encoder.get_output_embeddings().bias -= logits
