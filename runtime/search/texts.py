"""A pipeline that runs on texts, the caller's own or those that another system has stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.location import Location
from ranklet.runtime.bundles.manifest import Value
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution.execution import Execution
from ranklet.runtime.hits import Hit
from ranklet.runtime.pipelines.pipeline import Pipeline
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.search.run import Run
from ranklet.runtime.text.ranked import ranked_text

if TYPE_CHECKING:
    from ranklet.runtime.answers.explanation import Explanation


@dataclass(frozen=True)
class Passage:
    """A passage of a document, or a document that is whole.

    Attributes:
        key: differs from that of all others.
        document: the document's id.
        passage: which one of the document it is, from 1; None if the document is whole.
        title: the document's; may be empty.
        text: the text without its title.
        metadata: the document's, without values that are missing.
        location: where it stands in the document, if that is known.
    """

    key: str
    document: str
    passage: int | None
    title: str
    text: str
    metadata: Mapping[str, Value]
    location: Location | None = field(default=None, kw_only=True)


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
        rankers = partial(open_ranker, files)
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
        """Return the number of each document's group, (positions,); see `Ask`."""
        numbers: dict[object, int] = {}
        values = (self._passages[at].metadata.get(name, (at,)) for at in positions.tolist())
        return np.array([numbers.setdefault(each, len(numbers)) for each in values], np.intp)

    def hits(
        self,
        positions: NDArray[np.intp],
        scores: Sequence[float],
        explanations: "Sequence[Explanation | None]",
    ) -> list[Hit]:
        """Return the texts at some positions as hits, whose index is their place among all."""
        return [
            Hit(each.document, score, each.title, each.text, self._places[position], explanation,
                each.passage, each.metadata)
            for position, score, explanation in zip(
                positions.tolist(), scores, explanations, strict=True
            )
            for each in [self._passages[position]]
        ]  # fmt: skip


def _owners(passages: Sequence[Passage]) -> NDArray[np.uint32] | None:
    """Return the number of each passage's document, (passages,); None if all are whole."""
    if all(each.passage is None for each in passages):
        return None
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(each.document, len(numbers)) for each in passages]
    return np.array(found, np.uint32)
