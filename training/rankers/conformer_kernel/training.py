"""Train a Conformer-Kernel (NDRM1, NDRM2 or NDRM3) by RankNet over four documents per query.

Source: Mitra et al. 2020.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.probes import draw_probes
from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.indexing.ragged import by_length
from ranklet.corpus.judgements.query_log import with_query_log
from ranklet.corpus.progress import EVALUATING, progress
from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.distilling.margins import read_margins
from ranklet.training.distilling.taught import read_taught
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.weights import check_kind, load_trained, take_weights
from ranklet.training.outcome import counts
from ranklet.training.rankers.conformer_kernel import layers
from ranklet.training.rankers.conformer_kernel.network import ConformerKernel, Pairs, TermModel
from ranklet.training.rankers.conformer_kernel.options import Options, TermOptions
from ranklet.training.rankers.conformer_kernel.pairs import (
    SCORED,
    TermPairs,
    TermReader,
    weak_ranknet_loss,
)
from ranklet.training.rankers.conformer_kernel.sizes import Network
from ranklet.training.rankers.conformer_kernel.vocabulary import choose_terms
from ranklet.training.rankers.conformer_kernel.word_vectors import begin_with
from ranklet.training.sampling.batches import Batch
from ranklet.training.sampling.dev_candidates import CandidateLists
from ranklet.training.sampling.negatives import Numbers

_log = logging.getLogger(__name__)

WARMING = 10  # batches for the first statistics


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Learn the score of a query term in a document; the best weights rerank some of `dev` best.

    Raises:
        InputError: an option is not allowed, or no query has a relevant document.
        TrainingError: see `fit`.
    """
    network = replace(options.network, architecture=options.settings.architecture)
    options = replace(options, network=network)
    return train_on_terms("conformer_kernel", ConformerKernel, collection, queries, dev, options)


def train_on_terms(
    kind: str,
    build: Callable[[Any], TermModel],
    collection: Collection,
    queries: JudgedQueries,
    dev: JudgedQueries,
    options: TermOptions,
) -> Checkpoint:
    """Train a model over word forms, which `build` makes of its sizes, by RankNet; see `train`.

    Exact matching, if the model has it, begins as BM25.
    """
    settings, bm25 = options.settings, options.bm25
    analysed = _analysed(collection, queries, dev, options)
    terms = choose_terms(analysed, settings.field, queries, least=options.least, most=options.most)
    rows = term_rows(terms, analysed.analyzer.vocabulary, settings.field)
    reader = TermReader(analysed, settings, rows)
    retriever = analysed.bm25(bm25)
    with seeded(options.seed):
        model = build(replace(options.network, vocabulary=len(terms) + FIRST))
        network = asdict(model.network)
        began = _begin_embeddings(model, options, terms, analysed)
        learnable = reader.with_terms(queries)
        taught_queries = read_taught(options, collection, learnable)
        margins = read_margins(taught_queries, options)
        pairs = TermPairs(analysed, queries, retriever, reader, options, taught_queries)
        lists = CandidateLists(analysed, dev, retriever, options)
        _warn_of_long_documents(model, int(reader.lengths.max(initial=0)))
        _gather_statistics(model, [pairs.pairs(batch) for batch in pairs.batches(0)[:WARMING]])
        if model.explicit is not None:
            model.explicit.begin_as_bm25(bm25.k1, bm25.b, float(reader.lengths.mean()))

    def loss(batch: Batch) -> torch.Tensor:
        scores = model(_moved(pairs.pairs(batch), model)).float().reshape(batch.documents.shape)
        if margins is not None:
            return margins.loss(batch.queries, batch.documents, scores)
        return weak_ranknet_loss(scores)

    def score(query: JudgedQuery, numbers: Numbers) -> NDArray[np.float32]:
        terms = [reader.query_terms(query.text)]

        def run(block: NDArray[np.intp]) -> NDArray[np.float32]:
            scores = model(_moved(reader.pairs(terms, numbers[block][None]), model))
            return np.asarray(scores.float().cpu().numpy())

        return by_length(reader.lengths[numbers], SCORED, run)

    def evaluate() -> NDArray[np.float64]:
        shown = progress(lists.lists, EVALUATING)
        scores = [score(query, numbers) for query, numbers, _ in shown]
        return lists.reciprocal_ranks(np.concatenate(scores))

    made_of = {"network": network, **began, **(margins.made_of if margins else {})}
    finished = learn(model, pairs.batches, loss, options, evaluate, lists.measured, made_of=made_of)
    served: dict[str, Any] = dict(model.served())
    return Checkpoint(
        kind,
        replace(settings, **served),
        tokens=terms,
        training={**counts(len(analysed.documents), queries, dev), **began, **finished.report},
        curve=finished.curve,
        network={"architectures": [type(model).__name__], **network},
        weights=take_weights(model),
        probes=draw_probes(analysed.listed(), dev, titles=options.titles),
        **analysed.list_words(settings.field, bm25.field),
    )


def _analysed(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: TermOptions
) -> AnalysedCollection:
    """Return the words of the collection and, because the network knows these, too, of queries."""
    if options.query_log:
        documents = with_query_log(collection, options.query_log, [*queries, *dev])
    else:
        documents = collection.documents()
    return analyse(
        documents,
        [options.settings.field, options.bm25.field],
        titles=options.titles,
        known_texts=[query.text for query in queries],
        options=options.words,
    )


def load(checkpoint: Checkpoint) -> ConformerKernel:
    """Return the network of a Conformer-Kernel's checkpoint, in evaluation mode.

    Raises:
        InputError: the checkpoint is of another kind, or its weights do not fit its config.json.
    """
    check_kind(checkpoint, "conformer_kernel")
    return load_trained(ConformerKernel(Network.of(checkpoint)), checkpoint.weights)


def _begin_embeddings(
    model: TermModel, options: TermOptions, terms: Sequence[str], analysed: AnalysedCollection
) -> dict[str, str]:
    """Begin with word vectors, if some are given, and return what a report says of it."""
    if options.word_vectors is None:
        return {}
    if model.latent is None:
        raise InputError("word_vectors has no effect, because ndrm2 has no embeddings")
    path, vocabulary = Path(options.word_vectors), analysed.analyzer.vocabulary
    embedding = model.latent.encoder.embedding
    found = begin_with(embedding, path, terms, vocabulary, options.settings.field)
    _log.info("%s of %s terms begin with a vector of %s", f"{found:,}", f"{len(terms):,}", path)
    return {"word_vectors": f"{path.name}, {found:,} of {len(terms):,} terms"}


def _warn_of_long_documents(model: TermModel, longest: int) -> None:
    """Warn if full attention over a single document takes gigabytes."""
    numbers = 0 if model.latent is None else model.latent.numbers(0, longest)
    if numbers > layers.AT_ONCE:
        _log.warning(
            "a document has %s terms, and full attention makes several matrices of heads x terms^2 "
            "numbers per layer, %.1f GB each; lower max_document_terms (--max-document-tokens)",
            f"{longest:,}", numbers * 4 / 1e9,
        )  # fmt: skip


def _gather_statistics(model: TermModel, some: Sequence[Pairs]) -> None:
    """Run some pairs for the statistics of BatchNorm and BatchScale before the first evaluation."""
    model.train()
    with torch.no_grad():
        for pairs in some:
            model(pairs)


def _moved(pairs: Pairs, model: TermModel) -> Pairs:
    device = next(model.parameters()).device
    return Pairs(*(tensor.to(device) for tensor in pairs))
