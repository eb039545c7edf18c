"""The query of one call, analysed and encoded once for all rankers."""

from collections import Counter
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.pipeline.candidates import Candidates, TextCandidates
from ranklet.runtime.text.analysis import Analysis

_ITSELF = -1  # the query's place among the texts of a call

T = TypeVar("T")


class QueryContext:
    """The query of one call; each field is analysed once.

    Args:
        text: what the user asked.
        analysis: the analysis of this call, shared with the caller's own documents.

    Attributes:
        listed: names of rankers whose scores are those that they retrieved by, where scoring gives
            others: an index of impacts and the network that it is of.
    """

    def __init__(self, text: str, analysis: Analysis) -> None:
        self.text, self.analysis = text, analysis
        self._fields: dict[str, NDArray[np.int32]] = {}
        self._made: dict[int, Any] = {}
        self._making: dict[int, Lock] = {}
        self._cut: set[tuple[str, int]] = set()
        self.listed: set[str] = set()

    def tokens(self, field: str) -> NDArray[np.int32]:
        """Return the query's token ids in a field, repeats and order kept; (tokens,) int32."""
        if field not in self._fields:
            self._fields[field] = self.analysis.tokens(self.text, field)
        return self._fields[field]

    def once(self, key: int, make: Callable[[], T]) -> T:
        """Return what `make` made for this query, made when it is first asked for.

        Where another thread is making it, that is waited for.
        """
        with self._making.setdefault(key, Lock()):
            if key not in self._made:
                self._made[key] = make()
        found: T = self._made[key]
        return found

    def tell_cut(
        self, ranker: str, candidates: Candidates | None = None, cut: Iterable[int] = ()
    ) -> None:
        """Note that a ranker's model cut texts of the caller; without candidates, the query.

        Stored documents are not noted: they were told when they were indexed.

        Args:
            ranker: its name.
            candidates: that the texts are among.
            cut: their places there.
        """
        if candidates is None:
            self._cut.add((ranker, _ITSELF))
        elif isinstance(candidates, TextCandidates):
            self._cut.update((ranker, candidates.places[at]) for at in cut)

    @property
    def truncated(self) -> Counter[str]:
        """By ranker, how many texts of this call, the query or the caller's, its model cut.

        They were longer than it reads. Each counts once, however often it was read.
        """
        return Counter(ranker for ranker, _ in self._cut)
