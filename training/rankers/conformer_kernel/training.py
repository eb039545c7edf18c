"""Training a Conformer-Kernel, NDRM1 to NDRM3, or TK: RankNet over four documents a query.

Source: Mitra et al. 2020 (paper 002).
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25, BM25Settings
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.ranker import ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.probes import draw_probes
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.dev_candidates import CandidateLists
from ranklet.training.learning.device import seeded
from ranklet.training.learning.loop import learn
from ranklet.training.learning.negatives import Numbers
from ranklet.training.learning.plan import Plan
from ranklet.training.learning.weights import load_weights, weights_of
from ranklet.training.rankers.bm25 import open_bm25
from ranklet.training.rankers.conformer_kernel import parts
from ranklet.training.rankers.conformer_kernel.network import ConformerKernel, Network, Pairs
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


class Start(NamedTuple):
    """What takes time before training and is the same for every form: made once for several."""

    vectors: NDArray[np.float32]  # word2vec's, (vocabulary, hidden)
    ranked: list[Numbers]  # of each query, BM25's best documents that are not relevant


class _Ground(NamedTuple):
    """What a training stands on."""

    terms: tuple[str, ...]  # that the network knows
    rows: NDArray[np.int32]  # its row of each word form
    sizes: Network
    reader: TermReader  # of documents and queries
    bm25: BM25Settings
    retriever: BM25

    @classmethod
    def of(
        cls,
        analysed: AnalysedCollection,
        queries: Sequence[JudgedQuery],
        settings: ConformerKernelSettings,
        network: dict[str, Any],
        least: int,
        most: int,
        bm25: BM25Settings | None,
    ) -> "_Ground":
        """Choose the network's terms, and open the BM25; arguments as of `train`."""
        terms = choose_terms(analysed, settings.field, queries, least=least, most=most)
        rows = term_rows(terms, analysed.analyzer.vocabulary)
        chosen = bm25 or BM25Settings()
        return cls(
            terms,
            rows,
            Network(len(terms) + FIRST, settings.form, **network),
            TermReader(analysed, settings, rows),
            chosen,
            open_bm25(chosen, analysed.postings(chosen.field)),
        )

    def vectors(
        self, analysed: AnalysedCollection, field: str, queries: Sequence[JudgedQuery], seed: int
    ) -> NDArray[np.float32]:
        """Return word2vec's vectors of documents and queries, (vocabulary, hidden)."""
        texts = [*_rows_of(analysed, field, self.rows)]
        texts += [_known(self.reader.asked(query.text), self.rows) for query in queries]
        return word_vectors(texts, self.sizes.vocabulary, self.sizes.hidden, seed=seed)


def train(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    *,
    settings: ConformerKernelSettings = SETTINGS,
    network: dict[str, Any] | None = None,
    plan: Plan = PLAN,
    data: PairOptions = DATA,
    vectors: str = "random",
    least: int = LEAST,
    most: int = MOST,
    bm25: BM25Settings | None = None,
    folder: Path | None = None,
    resume: bool = False,
    start: Start | None = None,
) -> Checkpoint:
    """Learn what a query term gives to a document.

    Args:
        analysed: the collection, with the settings' field and BM25's; words of the queries that no
            document has are known to the network where it was analysed with them.
        queries: what it learns from.
        dev: other queries; how well some of them are reranked tells which weights are best.
        settings: form, field and limits.
        network: sizes, by the names of `Network`; None for the paper's.
        plan: how long and how fast.
        data: batches and negatives.
        vectors: what the embeddings begin with: word2vec of the documents and queries, or random.
        least: occurrences of a term that the network knows.
        most: terms that it knows.
        bm25: the ranker that gives negatives and candidates, and that explicit matching begins as;
            None for the default over lemmas.
        folder: where the state is kept meanwhile.
        resume: whether to go on from the state in `folder`.
        start: of the same collection, queries, field, terms and seed, to begin with word2vec; None
            to make what it takes. See `prepare`.

    Raises:
        InputError: an option is not allowed, no query has a relevant document here, or the start is
            of other queries or sizes.
        TrainingError: see `fit`.
    """
    if vectors not in VECTORS:
        raise InputError(f"vectors is {vectors!r}; allowed are {', '.join(VECTORS)}")
    ground = _Ground.of(analysed, queries, settings, network or {}, least, most, bm25)
    sizes, reader, chosen = ground.sizes, ground.reader, ground.bm25
    ranked = None if start is None else start.ranked
    pairs = TermPairs(analysed, queries, ground.retriever, reader, data, plan.seed, ranked)
    lists = CandidateLists(
        analysed, dev, ground.retriever, most=DEV_QUERIES, depth=DEV_CANDIDATES, seed=plan.seed
    )
    with seeded(plan.seed):
        model = ConformerKernel(sizes)
        _tell_of_long_documents(model, int(reader.lengths.max(initial=0)))
        if vectors == "word2vec" and model.latent is not None and not resume:
            table = model.latent.encoder.embedding.weight
            if start is None:
                learned = ground.vectors(analysed, settings.field, queries, plan.seed)
            elif start.vectors.shape != table.shape:
                raise InputError(
                    f"the start has vectors {start.vectors.shape} and the network's embeddings are "
                    f"{tuple(table.shape)}; prepare it with the same terms and sizes"
                )
            else:
                learned = start.vectors
            with torch.no_grad():  # row 0 stays the padding's
                table[1:] = torch.from_numpy(learned[1:])
        _gather_statistics(model, [pairs.pairs(each) for each in pairs.batches(0)[:WARMING]])
        if model.explicit is not None:
            model.explicit.begin_as_bm25(chosen.k1, chosen.b, float(reader.lengths.mean()))

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
        "data": asdict(data), "vectors": vectors, "bm25": asdict(chosen),
        "network": asdict(sizes), "settings": asdict(settings),
    }  # fmt: skip
    report = learn(
        model, pairs.batches, loss, plan, lambda: lists.mrr(score), evaluations=EVALUATIONS,
        made_of=made_of, folder=folder, resume=resume,
    )  # fmt: skip
    served: dict[str, Any] = dict(model.served())
    return Checkpoint(
        "conformer_kernel",
        replace(settings, **served),
        tokens=ground.terms,
        training={
            "measure": f"MRR@10 of reranking BM25's {DEV_CANDIDATES} and the relevant",
            **report,
        },
        network={"architectures": ["ConformerKernel"], **asdict(sizes)},
        weights=weights_of(model),
        probes=draw_probes(analysed.listed(), dev, titles=analysed.titles),
    )


def prepare(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    *,
    settings: ConformerKernelSettings = SETTINGS,
    network: dict[str, Any] | None = None,
    data: PairOptions = DATA,
    least: int = LEAST,
    most: int = MOST,
    bm25: BM25Settings | None = None,
    seed: int = PLAN.seed,
) -> Start:
    """Return what several trainings can begin with; arguments and errors as of `train`."""
    ground = _Ground.of(analysed, queries, settings, network or {}, least, most, bm25)
    pairs = TermPairs(analysed, queries, ground.retriever, ground.reader, data, seed)
    return Start(ground.vectors(analysed, settings.field, queries, seed), pairs.ranked)


def load(checkpoint: Checkpoint) -> ConformerKernel:
    """Return the network of a checkpoint, in evaluation mode.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    if checkpoint.kind != "conformer_kernel" or not checkpoint.weights:
        raise InputError(f"a {checkpoint.kind} checkpoint holds no conformer kernel")
    network = Network.from_json(checkpoint.network)
    if network.form != checkpoint.settings.form:
        raise InputError(
            f"the network is a {network.form} and the settings are of a {checkpoint.settings.form}"
        )
    model = ConformerKernel(network)
    load_weights(model, checkpoint.weights)
    return model.eval()


def _tell_of_long_documents(model: ConformerKernel, longest: int) -> None:
    """Warn where full attention over a single document takes gigabytes."""
    encoder = None if model.latent is None else model.latent.encoder
    if (
        encoder is not None
        and encoder.full
        and (numbers := encoder.heads * longest**2) > parts.AT_ONCE
    ):
        _log.warning(
            "a document has %s terms, and full attention makes matrices of heads x terms^2 "
            "numbers, %.1f GB each, several a layer; lower max_document_terms "
            "(--max-document-tokens)",
            f"{longest:,}", numbers * 4 / 1e9,
        )  # fmt: skip


def _gather_statistics(model: ConformerKernel, some: Sequence[Pairs]) -> None:
    """Let BatchNorm and BatchScale see some pairs, so that the untrained model can be measured."""
    model.train()
    with torch.no_grad():
        for each in some:
            model(each)


def _moved(pairs: Pairs, model: ConformerKernel) -> Pairs:
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
