"""Export a ColBERT: one graph for queries and documents, proven by MaxSim scores of real pairs.

Its report says what each stored form of token vectors costs, against vectors in 32 bits.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.evaluation.proof_report import Report, compare_scores
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.proof.as_others import TOKENS, AsOthers, Pooled
from ranklet.export.proof.variants import encoder_graph, export_proven, write_reports
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.dense.maxsim import TokenStore, quantise_query
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder
from ranklet.runtime.rankers.colbert.settings import OUTPUT, STORED, ColBERTSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


Vectors = Sequence[NDArray[np.float32]]  # of each text, (its tokens, dimension)


class MaxSimScores:
    """Scores texts by vectors in 32 bits, so that a variant's error is not the stored form's.

    Args:
        settings: the ranker's settings.
        tokenizer: the model's tokenizer.
    """

    def __init__(self, settings: ColBERTSettings, tokenizer: "Tokenizer") -> None:
        self._settings, self._tokenizer = settings, tokenizer
        self.first: tuple[Vectors, Vectors] | None = None  # vectors of the first call, PyTorch's

    def __call__(self, sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        """Return MaxSim of all pairs, (queries, documents) float32."""
        encoder = self.encoder(sessions[0])
        queries = encoder.encode(texts.queries, "query").vectors
        documents = encoder.encode(texts.documents, "document").vectors
        self.first = self.first or (queries, documents)
        return float_scores(queries, documents)

    def encoder(self, session: Runs) -> ColBERTEncoder:
        """Return an encoder without a bundle."""
        whole = Encoder(session, OUTPUT, self._tokenizer, self._settings.dimension)
        return ColBERTEncoder(self._settings, whole)


def export(job: ExportJob) -> RankerEntry:
    """Write the encoder's variants, each proven against PyTorch, and its tokenizer.

    The report also has a row per stored form of the documents' vectors.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from ranklet.training.rankers.colbert import training as colbert

    settings: ColBERTSettings = job.settings
    probes, tokenizer = job.probes(), job.tokenizer()
    network = colbert.load(job.checkpoint, attention="eager")  # the optimiser fuses no other
    graph = encoder_graph(job.checkpoint, network, network.inputs, {OUTPUT: True})
    score = MaxSimScores(settings, tokenizer)
    reports = list(export_proven(job, [graph], score, probes).reports)
    if score.first is not None:
        reports += form_reports(*score.first, probes.relevant)
    write_reports(job, reports, probes)
    job.write_tokenizer()
    return job.entry()


def as_others(job: ExportJob) -> AsOthers:
    """Return the encoder with the vectors of tokens as output.

    Raises:
        ExportError: there are no probes.
    """
    from ranklet.training.rankers.colbert import training as colbert

    network = colbert.load(job.checkpoint, attention="eager")
    graph = encoder_graph(job.checkpoint, network, network.inputs, {TOKENS: True})
    scores = MaxSimScores(job.settings, job.tokenizer())

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        return scores([Pooled(sessions[0], graph, OUTPUT, lambda vectors, _: vectors)], texts)

    return AsOthers(graph, score, job.probes(), "feature-extraction")


def float_scores(queries: Vectors, documents: Vectors) -> NDArray[np.float32]:
    """Return MaxSim of all pairs by vectors in 32 bits, (queries, documents) float32."""
    owner = np.repeat(np.arange(len(queries)), [len(query) for query in queries])
    tokens = np.concatenate(queries)
    scores = np.zeros((len(queries), len(documents)), np.float32)
    for at, document in enumerate(documents):
        if len(document):
            best = (tokens @ document.T).max(1)
            scores[:, at] = np.bincount(owner, best, len(queries))
    return scores


def form_reports(
    queries: Vectors, documents: Vectors, relevant: Sequence[Sequence[int]]
) -> list[Report]:
    """Return how each stored form ranks the probes, next to vectors in 32 bits.

    Args:
        queries: PyTorch's vectors of the queries.
        documents: PyTorch's vectors of the documents.
        relevant: indices of the relevant documents of each query.
    """
    reference = float_scores(queries, documents)
    reports = []
    for form in STORED:
        store = TokenStore.of(documents, form, queries[0].shape[1])
        everything = np.arange(len(store))
        scores = np.stack(
            [store.scores(quantise_query(query, form), everything) for query in queries]
        )
        size = round(count_stored_bytes(store) / max(1, len(store)))
        reports.append(compare_scores(f"stored {form}", size, reference, scores, relevant))
    return reports


def count_stored_bytes(store: TokenStore) -> int:
    """Return how many bytes the vectors of a store take, with factors and offsets."""
    return int(store.vectors.values.nbytes + store.vectors.scales.nbytes + store.offsets.nbytes)


EXPORTER = Exporter(export, settings=("stored",), cuts=True, as_others=as_others)
