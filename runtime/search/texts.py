"""Run a pipeline on texts that are not in the bundle: the caller's own, or another system's."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Value
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution.execution import Execution
from ranklet.runtime.explanation import Explanation
from ranklet.runtime.hits import Hit
from ranklet.runtime.pipeline import Pipeline
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.search.run import Run
from ranklet.runtime.text.ranked import ranked_text


class Passage(NamedTuple):
    """A passage of a document, or a document that is whole.

    Attributes:
        key: differs from that of all others.
        document: the document's id.
        passage: which one of the document it is, from 1; None if the document is whole.
        title: the document's; may be empty.
        text: the text without its title.
        metadata: the document's.
    """

    key: str
    document: str
    passage: int | None
    title: str
    text: str
    metadata: Mapping[str, Value]


def own_passages(documents: Sequence[tuple[str, str, str]]) -> list[Passage]:
    """Return the caller's own documents, each (id, title, text), as passages."""
    return [
        Passage(str(at), name, None, title, text, {})
        for at, (name, title, text) in enumerate(documents)
    ]


class TextRun(Run):
    """A pipeline that runs on texts.

    Args:
        files: the bundle.
        query: the query.
        pipeline: the stages.
        passages: the texts.
        deadline: the time to stop at.
        titles: whether titles are ranked.
        known: scores that each ranker need not compute, (passages,) float32; see `Execution`.
    """

    def __init__(
        self,
        files: BundleFiles,
        query: QueryContext,
        pipeline: Pipeline,
        passages: Sequence[Passage],
        deadline: Deadline | None = None,
        *,
        titles: bool,
        known: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> None:
        texts = [ranked_text(each.title, each.text, titles) for each in passages]
        begin = [each.title for each in passages] if titles else None
        given = TextCandidates(texts, query.analysis, titles=begin, owners=_owners(passages))
        rankers = partial(ranker_of, files)
        execution = Execution(pipeline, rankers, None, query, given, deadline, known=known)
        super().__init__(files, query, execution)
        # Those that a keep stage left, and their places among all.
        self._places = getattr(self.execution.candidates, "places", ())
        self._passages = [passages[place] for place in self._places]

    def positions(self, parts: Sequence[Passage]) -> NDArray[np.intp]:
        """Return the positions of some passages."""
        keys = {each.key for each in parts}
        return np.flatnonzero([each.key in keys for each in self._passages])

    def others(self, parts: Sequence[Passage]) -> list[Passage]:
        """Return all candidates except some passages."""
        keys = {each.key for each in parts}
        return [each for each in self._passages if each.key not in keys]

    def ids(self, positions: NDArray[np.intp]) -> list[str]:
        """Return the ids of the documents at some positions."""
        return [self._passages[position].document for position in positions.tolist()]

    def groups(self, name: str, positions: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the number of each document's group, (positions,); see `Selection`."""
        numbers: dict[object, int] = {}
        values = (self._passages[at].metadata.get(name, (at,)) for at in positions.tolist())
        return np.array([numbers.setdefault(each, len(numbers)) for each in values], np.intp)

    def hit(self, position: int, score: float, explanation: Explanation | None) -> Hit:
        """Return the text at a position as a hit, whose index is its place among all."""
        each = self._passages[position]
        return Hit(
            each.document, score, each.title, each.text, self._places[position], explanation,
            each.passage, each.metadata,
        )  # fmt: skip


def _owners(passages: Sequence[Passage]) -> NDArray[np.uint32] | None:
    """Return the number of each passage's document, (passages,); None if all are whole."""
    if all(each.passage is None for each in passages):
        return None
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(each.document, len(numbers)) for each in passages]
    return np.array(found, np.uint32)
