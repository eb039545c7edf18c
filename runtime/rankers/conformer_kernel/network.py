"""Running a network whose inputs are word forms: of a Conformer-Kernel, and of a TK."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import BundleError
from ranklet.runtime.lexical.forward import Gathered
from ranklet.runtime.onnx.batches import length_batches
from ranklet.runtime.onnx.session import Runs, run_each
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings
from ranklet.runtime.rankers.protocol import Scores
from ranklet.runtime.text.strings import Strings

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles

# The files of a network, in rankers/NAME/, beside its variants.
TOKENS = "tokens"  # spellings of the network's terms; term i has the row 2 + i
ROWS = "rows.npy"  # the network's row of each word form, 1 where it knows none, (terms,) int32

# Names of the network's inputs, rows of its embeddings, (batch, terms) int64 padded with `PADDING`,
# and of its output, (batch, query terms) float32; of a TK (batch, 1).
INPUTS = ("query_rows", "document_rows")
OUTPUT = "term_scores"
PADDING, UNKNOWN, FIRST = 0, 1, 2  # rows: nothing; a word that it does not know; its first term

PAIR_BUDGET = 1 << 20  # query × document terms in one batch on a GPU
# documents × terms² there: full attention makes that many numbers a head, 0.5 GB with 32 heads
SQUARE_BUDGET = 1 << 22
# The same in one run for a single document: 16 MB a matrix, of which a run holds three or four. A
# document of 4,000 terms and a thousand others fit, so that it is read once for all of them.
RUN_BUDGET = 1 << 22


class TermNetwork:
    """A network beside what it reads of a bundle; its session is opened when it is first needed.

    Args:
        settings: field and limits.
        rows: the network's row of each word form, (terms,) int32.
        open_network: opens the session.
    """

    def __init__(
        self,
        settings: TermSettings,
        rows: NDArray[np.int32],
        open_network: Callable[[], Runs],
    ) -> None:
        self.settings, self.rows = settings, rows
        self._open, self._lock = open_network, Lock()
        self._session: Runs | None = None

    @property
    def session(self) -> Runs:
        """The network."""
        with self._lock:
            if self._session is None:
                self._session = self._open()
            return self._session

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on; numpy where none has run."""
        return self._session.provider if self._session is not None else "numpy"

    def query_tokens(self, query: QueryContext) -> NDArray[np.int32]:
        """Return the query's tokens, truncated to `max_query_terms`."""
        return query.tokens(self.settings.field)[: self.settings.max_query_terms]

    def result(
        self, values: NDArray[np.float32], query: QueryContext, candidates: Candidates
    ) -> Scores:
        """Return the scores of candidates, with what the network does not read of the texts."""
        longer: NDArray[np.intp] = np.empty(0, np.intp)
        if candidates.stored is None:
            lengths = candidates.tokens(self.settings.field).lengths
            longer = np.flatnonzero(lengths > self.settings.max_document_terms)
        tokens = query.tokens(self.settings.field)
        return Scores(values, longer.tolist(), len(tokens) > self.settings.max_query_terms)

    def run(self, terms: NDArray[np.int32], candidates: Candidates) -> NDArray[np.float32]:
        """Return what the network gives, (terms, n) float32; (1, n) of a TK."""
        documents = self.documents(candidates)
        rows = documents._replace(tokens=self.rows_of(documents.tokens))
        return network_scores(self.session, self.rows_of(terms), rows)

    def documents(self, candidates: Candidates) -> Gathered:
        """Return the candidates' tokens, as far as the network reads them."""
        tokens = candidates.tokens(self.settings.field)
        return truncated_at(tokens, self.settings.max_document_terms)

    def rows_of(self, tokens: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the network's row of each token, `UNKNOWN` for words that it does not know."""
        rows = np.full(len(tokens), UNKNOWN, np.int64)
        known = tokens < len(self.rows)
        rows[known] = self.rows[tokens[known]]
        return rows

    def verify(self, what: str, *, run: bool = True) -> None:
        """Check the rows, and run the network once; BundleError names `what` and the fault."""
        if (self.rows < UNKNOWN).any():
            raise BundleError(f"{what}: a row is below {UNKNOWN}")
        if run:
            last = int(self.rows.max(initial=UNKNOWN))  # one past the embeddings cannot run
            rows = np.array([UNKNOWN, last], np.int64)
            network_scores(self.session, rows, Gathered(rows, np.array([2])))


def spellings(bundle: "BundleFiles", name: str) -> list[str]:
    """Return the spellings of the terms that the network of a ranker knows."""
    return list(bundle.strings(f"rankers/{name}/{TOKENS}", Strings))


def network_scores(
    session: Runs, query: NDArray[np.int64], documents: Gathered
) -> NDArray[np.float32]:
    """Run the network on one query, or any other list of terms, and some documents.

    On a processor each document runs alone and unpadded, so that its scores hang on nothing else;
    on a GPU documents of like length run together.

    Args:
        session: of the network.
        query: rows, (query terms,) int64.
        documents: rows of the documents' terms.

    Returns:
        (query terms, documents) float32; (1, documents) of a TK.

    Raises:
        BundleError: the network gives another number of scores, or one that is not finite.
    """
    found: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(documents.lengths)
    asked = np.full((1, 1), PADDING, np.int64) if not len(query) else query[None, :]
    begins = np.cumsum(documents.lengths) - documents.lengths

    lengths, terms = documents.lengths.tolist(), len(asked[0])

    def fitting(length: int) -> int:
        return min(PAIR_BUDGET // (length * terms), SQUARE_BUDGET // length**2)

    def feeds(places: list[int]) -> dict[str, NDArray[np.int64]]:
        width = max(1, *(lengths[at] for at in places))
        rows = np.full((len(places), width), PADDING, np.int64)
        for row, at in zip(rows, places, strict=True):
            length = lengths[at]
            row[:length] = documents.tokens[begins[at] : begins[at] + length]
        return {INPUTS[0]: np.repeat(asked, len(places), axis=0), INPUTS[1]: rows}

    batches = list(length_batches(lengths, fitting, together=session.on_gpu))
    results = run_each(session, OUTPUT, map(feeds, batches))
    for places, scores in zip(batches, results, strict=True):
        _check(scores, len(places), terms)
        for at, each in zip(places, scores, strict=True):
            found[at] = each
    return np.stack(found, axis=1) if found else np.empty((len(query), 0), np.float32)


def scores_of_each(
    session: Runs, terms: Sequence[NDArray[np.int64]], documents: Sequence[NDArray[np.int64]]
) -> list[NDArray[np.float32]]:
    """Run the network on documents that are asked for other terms each, side by side.

    It must score each term by itself, so not be a TK.

    Args:
        session: of the network.
        terms: rows of the terms that each document is asked for.
        documents: rows of each document's terms.

    Returns:
        For each document the scores of its terms, (terms,) float32.

    Raises:
        BundleError: as `network_scores`.
    """
    runs: list[tuple[int, NDArray[np.int64]]] = []
    for at, (asked, held) in enumerate(zip(terms, documents, strict=True)):
        each = max(1, RUN_BUDGET // max(1, len(held)))
        runs += [(at, asked[begin : begin + each]) for begin in range(0, len(asked), each)]

    def feeds(run: tuple[int, NDArray[np.int64]]) -> dict[str, NDArray[np.int64]]:
        held = documents[run[0]]
        read = held if len(held) else np.full(1, PADDING, np.int64)
        return {INPUTS[0]: run[1][None, :], INPUTS[1]: read[None, :]}

    parts: list[list[NDArray[np.float32]]] = [[np.empty(0, np.float32)] for _ in terms]
    for (at, asked), scores in zip(runs, run_each(session, OUTPUT, map(feeds, runs)), strict=True):
        _check(scores, 1, len(asked))
        parts[at].append(scores[0])
    return [np.concatenate(part) for part in parts]


def truncated_at(documents: Gathered, most: int) -> Gathered:
    """Return the first tokens of each document, at most `most` of each.

    >>> gathered = Gathered(np.array([7, 8, 9, 5]), np.array([3, 1]))
    >>> [each.tolist() for each in truncated_at(gathered, 2)]
    [[7, 8, 5], [2, 1]]
    """
    if not (documents.lengths > most).any():
        return documents
    begins = np.cumsum(documents.lengths) - documents.lengths
    kept = np.arange(len(documents.tokens)) - begins[documents.owner] < most
    lengths = np.minimum(documents.lengths, most)
    return Gathered(documents.tokens[kept], lengths)


def _check(scores: NDArray[np.float32], documents: int, terms: int) -> None:
    if scores.ndim != 2 or scores.shape[0] != documents or scores.shape[1] not in (1, terms):
        raise BundleError(
            f"the network gave scores of shape {scores.shape} for {documents} documents and "
            f"{terms} terms: the bundle is damaged"
        )
    if not np.isfinite(scores).all():
        raise BundleError("the network gave a score that is not finite: the bundle is damaged")
