"""Training a Conformer-Kernel, NDRM1 to NDRM3: RankNet over four documents per query.

Source: Mitra et al. 2020 (paper 002).
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.settings import (
    ConformerKernelSettings,
    TermSettings,
)
from ranklet.runtime.storage.checks import check_one_of
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import draw_probes
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.indexing.retriever import open_bm25
from ranklet.training.learning.dev_candidates import CandidateLists
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.negatives import Numbers
from ranklet.training.learning.plan import Plan
from ranklet.training.learning.weights import load_weights, weights_of
from ranklet.training.rankers.conformer_kernel import layers
from ranklet.training.rankers.conformer_kernel.network import (
    ConformerKernel,
    Network,
    Pairs,
    TermModel,
)
from ranklet.training.rankers.conformer_kernel.pairs import (
    DEV_CANDIDATES,
    DEV_QUERIES,
    SCORED,
    Batch,
    PairOptions,
    TermPairs,
    TermReader,
    weak_ranknet_loss,
)
from ranklet.training.rankers.conformer_kernel.vocabulary import (
    LEAST,
    MOST,
    choose_terms,
    term_rows,
)
from ranklet.training.rankers.conformer_kernel.word2vec import word_vectors

_log = logging.getLogger(__name__)

PLAN = Plan(learning_rate=5e-4, epochs=5, schedule="linear", warmup=0.1, weight_decay=0.01, clip=1)
DATA = PairOptions()
SETTINGS = ConformerKernelSettings()
EVALUATIONS = 10  # of a training, unless the plan says how often
VECTORS = ("word2vec", "random")
WARMING = 10  # batches that the first statistics are of


def train(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    *,
    settings: ConformerKernelSettings = SETTINGS,
    network: dict[str, Any] | None = None,
    **options: Any,
) -> Checkpoint:
    """Learn what a query term gives to a document.

    Args:
        analysed: see `train_on_terms`.
        queries: what it learns from.
        dev: other queries.
        settings: architecture, field and limits.
        network: sizes, by the names of `Network`; None for the paper's.
        **options: of `train_on_terms`.

    Raises:
        InputError, TrainingError: see `train_on_terms`.
    """
    return train_on_terms(
        "conformer_kernel",
        lambda rows: ConformerKernel(
            Network(rows, architecture=settings.architecture, **(network or {}))
        ),
        analysed,
        queries,
        dev,
        settings=settings,
        **options,
    )


def train_on_terms(
    kind: str,
    build: Callable[[int], TermModel],
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    *,
    settings: TermSettings,
    plan: Plan = PLAN,
    data: PairOptions = DATA,
    vectors: str = "random",
    least: int = LEAST,
    most: int = MOST,
    bm25: BM25Settings | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> Checkpoint:
    """Train a model over word forms by RankNet: a Conformer-Kernel, or a TK.

    Args:
        kind: of the checkpoint.
        build: makes the model, for so many rows of embeddings.
        analysed: the collection, with the settings' field and BM25's; words of the queries that no
            document has are known to the network where it was analysed with them.
        queries: what it learns from.
        dev: other queries; how well some of them are reranked tells which weights are best.
        settings: field and limits.
        plan: how long and how fast.
        data: batches and negatives.
        vectors: what the embeddings begin with: word2vec of the documents and queries, or random.
        least: occurrences of a term that the network knows.
        most: terms that it knows.
        bm25: the ranker that gives negatives and candidates, and that explicit matching begins as;
            None for the default over lemmas.
        folder: where the state is kept meanwhile.
        resume: whether to go on from the state in `folder`.

    Raises:
        InputError: an option is not allowed, or no query has a relevant document here.
        TrainingError: see `fit`.
    """
    check_one_of("vectors", vectors, VECTORS)
    terms = choose_terms(analysed, settings.field, queries, least=least, most=most)
    rows = term_rows(terms, analysed.analyzer.vocabulary)
    reader = TermReader(analysed, settings, rows)
    bm25 = bm25 or BM25Settings()
    retriever = open_bm25(bm25, analysed.postings(bm25.field))
    with seeded(plan.seed):
        model = build(len(terms) + FIRST)
        network = asdict(model.network)
        pairs = TermPairs(analysed, queries, retriever, reader, data, plan.seed)
        lists = CandidateLists(
            analysed, dev, retriever, most=DEV_QUERIES, depth=DEV_CANDIDATES, seed=plan.seed
        )
        _tell_of_long_documents(model, int(reader.lengths.max(initial=0)))
        if vectors == "word2vec" and model.latent is not None and not resume:
            texts = [*_rows_of(analysed, settings.field, rows)]
            texts += [_known(reader.asked(query.text), rows) for query in queries]
            table = model.latent.encoder.embedding.weight
            learned = word_vectors(texts, *table.shape, seed=plan.seed)
            with torch.no_grad():  # row 0 stays the padding's
                table[1:] = torch.from_numpy(learned[1:])
        _gather_statistics(model, [pairs.pairs(each) for each in pairs.batches(0)[:WARMING]])
        if model.explicit is not None:
            model.explicit.begin_as_bm25(bm25.k1, bm25.b, float(reader.lengths.mean()))

    def loss(batch: Batch) -> torch.Tensor:
        scores = model(_moved(pairs.pairs(batch), model))
        return weak_ranknet_loss(scores.float().reshape(batch.documents.shape))

    def score(query: JudgedQuery, numbers: Numbers) -> NDArray[np.float32]:
        asked = [reader.asked(query.text)]
        order = np.argsort(reader.lengths[numbers], kind="stable")  # little padding
        parts = [order[at : at + SCORED] for at in range(0, len(order), SCORED)]
        inputs = [_moved(reader.pairs(asked, numbers[part][None]), model) for part in parts]
        scores = torch.cat([model(each) for each in inputs]).float().cpu().numpy()
        return np.asarray(scores[np.argsort(order)])

    made_of = {
        "data": asdict(data), "vectors": vectors, "bm25": asdict(bm25),
        "network": network, "settings": asdict(settings),
    }  # fmt: skip
    report = learn(
        model, pairs.batches, loss, plan, lambda: lists.mrr(score), evaluations=EVALUATIONS,
        made_of=made_of, folder=folder, resume=resume,
    )  # fmt: skip
    served: dict[str, Any] = dict(model.served())
    return Checkpoint(
        kind,
        replace(settings, **served),
        tokens=terms,
        training={
            "measure": f"MRR@10 of reranking BM25's {DEV_CANDIDATES} and the relevant",
            **report,
        },
        network={"architectures": [type(model).__name__], **network},
        weights=weights_of(model),
        probes=draw_probes(analysed.listed(), dev, titles=analysed.titles),
    )


def load(checkpoint: Checkpoint) -> ConformerKernel:
    """Return the network of a checkpoint, in evaluation mode.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    check_kind(checkpoint, "conformer_kernel")
    network = Network.from_json(checkpoint.network)
    if network.architecture != checkpoint.settings.architecture:
        raise InputError(
            f"the network is a {network.architecture} and the settings are of a "
            f"{checkpoint.settings.architecture}"
        )
    model = ConformerKernel(network)
    load_weights(model, checkpoint.weights)
    return model.eval()


def check_kind(checkpoint: Checkpoint, kind: str) -> None:
    """Raise InputError unless a checkpoint is of a kind, and has weights."""
    if checkpoint.kind != kind or not checkpoint.weights:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no {kind}")


def _tell_of_long_documents(model: TermModel, longest: int) -> None:
    """Warn where full attention over a single document takes gigabytes."""
    encoder = None if model.latent is None else model.latent.encoder
    if (
        encoder is not None
        and encoder.full
        and (numbers := encoder.heads * longest**2) > layers.AT_ONCE
    ):
        _log.warning(
            "a document has %s terms, and full attention makes matrices of heads x terms^2 "
            "numbers, %.1f GB each, several a layer; lower max_document_terms "
            "(--max-document-tokens)",
            f"{longest:,}", numbers * 4 / 1e9,
        )  # fmt: skip


def _gather_statistics(model: TermModel, some: Sequence[Pairs]) -> None:
    """Let BatchNorm and BatchScale see some pairs, so that the untrained model can be measured."""
    model.train()
    with torch.no_grad():
        for each in some:
            model(each)


def _moved(pairs: Pairs, model: TermModel) -> Pairs:
    device = next(model.parameters()).device
    return Pairs(*(each.to(device) for each in pairs))


def _rows_of(
    analysed: AnalysedCollection, field: str, rows: NDArray[np.int32]
) -> list[NDArray[np.int64]]:
    """Return the documents as rows, in text order."""
    held = rows[analysed.tokens(field)].astype(np.int64)
    return np.split(held, analysed.offsets(field)[1:-1])


def _known(tokens: NDArray[np.int64], rows: NDArray[np.int32]) -> NDArray[np.int64]:
    return rows[tokens[tokens < len(rows)]].astype(np.int64)
