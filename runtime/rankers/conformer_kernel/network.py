"""Run a network whose inputs are word forms, which is a Conformer-Kernel's or a TK's."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.protocol import Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import BundleError, damaged
from ranklet.runtime.onnx.batches import length_batches
from ranklet.runtime.onnx.session import Runs, run_each
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings
from ranklet.runtime.storage.forward import Gathered
from ranklet.runtime.storage.strings import Strings

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles

# The files of a network in rankers/NAME/, in addition to its variants.
TOKENS = "tokens"  # spellings of the network's terms; term i has row 2 + i
ROWS = "rows.npy"  # the network's row of each word form, 1 for unknown ones, (terms,) int32

# Names of the network's inputs, which are rows of its embeddings, (batch, terms) int64, padded with
# `PADDING`, and of its output, (batch, query terms) float32.
INPUTS = ("query_rows", "document_rows")
OUTPUT = "term_scores"
PADDING, UNKNOWN, FIRST = 0, 1, 2  # rows of padding, of unknown words and of the first term

PAIR_BUDGET = 1 << 20  # query × document terms per batch on a GPU
# Documents × terms² per batch on a GPU. Full attention makes this many numbers per head, which are
# 0.5 GB with 32 heads.
SQUARE_BUDGET = 1 << 22
# Query × document terms per run of a single document, with three or four matrices of 16 MB. A
# document of 4,000 terms and a thousand other terms fit, so the document is read only once.
RUN_BUDGET = 1 << 22


class TermNetwork:
    """A network with its data of a bundle; its session is opened on first use.

    Args:
        settings: the field and the limits.
        rows: the network's row of each word form, (terms,) int32.
        open_network: opens the session.
    """

    def __init__(
        self, settings: TermSettings, rows: NDArray[np.int32], open_network: Callable[[], Runs]
    ) -> None:
        self.settings, self.rows = settings, rows
        self._open, self._lock = open_network, Lock()
        self._session: Runs | None = None

    @property
    def session(self) -> Runs:
        """The session of the network."""
        with self._lock:
            if self._session is None:
                self._session = self._open()
            return self._session

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on, or numpy if it has not run."""
        return self._session.provider if self._session is not None else "numpy"

    def query_tokens(self, query: QueryContext) -> NDArray[np.int32]:
        """Return the query's tokens, truncated to `max_query_terms`."""
        return query.tokens(self.settings.field)[: self.settings.max_query_terms]

    def result(
        self, values: NDArray[np.float32], query: QueryContext, candidates: Candidates
    ) -> Scores:
        """Return the scores of candidates, with the texts that the network truncated."""
        longer: NDArray[np.intp] = np.empty(0, np.intp)
        if candidates.stored is None:
            lengths = candidates.tokens(self.settings.field).lengths
            longer = np.flatnonzero(lengths > self.settings.max_document_terms)
        return Scores(values, longer.tolist(), self.truncates(query))

    def truncates(self, query: QueryContext) -> bool:
        """Return whether a query is longer than the network reads."""
        return len(query.tokens(self.settings.field)) > self.settings.max_query_terms

    def run(self, terms: NDArray[np.int32], candidates: Candidates) -> NDArray[np.float32]:
        """Return the network's output, (terms, n) float32, (1, n) if there is no term."""
        documents = self.documents(candidates)
        rows = documents._replace(tokens=self.make_rows(documents.tokens))
        return network_scores(self.session, self.make_rows(terms), rows)

    def documents(self, candidates: Candidates) -> Gathered:
        """Return the candidates' tokens that the network reads."""
        tokens = candidates.tokens(self.settings.field)
        return truncate_terms(tokens, self.settings.max_document_terms)

    def make_rows(self, tokens: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the network's row of each token, or `UNKNOWN` for unknown words."""
        rows = np.full(len(tokens), UNKNOWN, np.int64)
        known = tokens < len(self.rows)
        rows[known] = self.rows[tokens[known]]
        return rows

    def verify(self, what: str, *, run: bool = True) -> None:
        """Check the rows and run the network once.

        Raises:
            BundleError: the message begins with `what` and names the fault.
        """
        if (self.rows < UNKNOWN).any():
            raise BundleError(f"{what}: a row is below {UNKNOWN}")
        if run:
            last = int(self.rows.max(initial=UNKNOWN))  # a row past the embeddings fails to run
            rows = np.array([UNKNOWN, last], np.int64)
            network_scores(self.session, rows, Gathered(rows, np.array([2])))


def spellings(bundle: "BundleFiles", name: str) -> list[str]:
    """Return the spellings of the terms that a ranker's network knows."""
    return list(bundle.strings(f"rankers/{name}/{TOKENS}", Strings))


def network_scores(
    session: Runs, query: NDArray[np.int64], documents: Gathered
) -> NDArray[np.float32]:
    """Run the network on one query, or any other list of terms, and some documents.

    On a CPU each document runs alone and unpadded, so that its scores depend on nothing else. On a
    GPU documents of similar length run together.

    Query and documents are rows of the embeddings.

    Returns:
        (query terms, documents) float32, (1, documents) if there is no term.

    Raises:
        BundleError: the network returns another number of scores, or one that is not finite.
    """
    by_document: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(documents.lengths)
    query_rows = np.full((1, 1), PADDING, np.int64) if not len(query) else query[None, :]
    begins = np.cumsum(documents.lengths) - documents.lengths

    lengths, terms = documents.lengths.tolist(), len(query_rows[0])

    def fitting(length: int) -> int:
        return min(PAIR_BUDGET // (length * terms), SQUARE_BUDGET // length**2)

    def feeds(batch: list[int]) -> dict[str, NDArray[np.int64]]:
        width = max(1, *(lengths[index] for index in batch))
        rows = np.full((len(batch), width), PADDING, np.int64)
        for row, index in zip(rows, batch, strict=True):
            length = lengths[index]
            row[:length] = documents.tokens[begins[index] : begins[index] + length]
        return {INPUTS[0]: np.repeat(query_rows, len(batch), axis=0), INPUTS[1]: rows}

    batches = list(length_batches(lengths, fitting, together=session.on_gpu))
    outputs = run_each(session, OUTPUT, map(feeds, batches))
    for batch, scores in zip(batches, outputs, strict=True):
        _check(scores, len(batch), terms)
        for index, of_document in zip(batch, scores, strict=True):
            by_document[index] = of_document
    return np.stack(by_document, axis=1) if by_document else np.empty((len(query), 0), np.float32)


def score_each(
    session: Runs, terms: Sequence[NDArray[np.int64]], documents: Sequence[NDArray[np.int64]]
) -> list[NDArray[np.float32]]:
    """Run the network on documents with different query terms each, in parallel.

    Terms are rows of the embeddings. The network must score each term independently, so it cannot
    be a TK's.

    Returns:
        For each document the scores of its query terms, (terms,) float32.

    Raises:
        BundleError: as `network_scores`.
    """
    runs: list[tuple[int, NDArray[np.int64]]] = []  # document and some of its query terms
    for index, (query_rows, rows) in enumerate(zip(terms, documents, strict=True)):
        size = max(1, RUN_BUDGET // max(1, len(rows)))
        begins = range(0, len(query_rows), size)
        runs += [(index, query_rows[begin : begin + size]) for begin in begins]

    def feeds(run: tuple[int, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
        rows = documents[run[0]] if len(documents[run[0]]) else np.full(1, PADDING, np.int64)
        return {INPUTS[0]: run[1][None, :], INPUTS[1]: rows[None, :]}

    parts: list[list[NDArray[np.float32]]] = [[np.empty(0, np.float32)] for _ in terms]
    outputs = run_each(session, OUTPUT, map(feeds, runs))
    for (index, query_rows), scores in zip(runs, outputs, strict=True):
        _check(scores, 1, len(query_rows))
        parts[index].append(scores[0])
    return [np.concatenate(part) for part in parts]


def truncate_terms(documents: Gathered, most: int) -> Gathered:
    """Return the first `most` tokens of each document.

    >>> gathered = Gathered(np.array([7, 8, 9, 5]), np.array([3, 1]))
    >>> [array.tolist() for array in truncate_terms(gathered, 2)]
    [[7, 8, 5], [2, 1]]
    """
    if not (documents.lengths > most).any():
        return documents
    begins = np.cumsum(documents.lengths) - documents.lengths
    within = np.arange(len(documents.tokens)) - begins[documents.owner] < most
    lengths = np.minimum(documents.lengths, most)
    return Gathered(documents.tokens[within], lengths)


def _check(scores: NDArray[np.float32], documents: int, terms: int) -> None:
    if scores.shape != (documents, terms):
        raise damaged(
            f"the network returned shape {scores.shape} for {documents} documents and {terms} terms"
        )
    if not np.isfinite(scores).all():
        raise damaged("the network returned a score that is not finite")
