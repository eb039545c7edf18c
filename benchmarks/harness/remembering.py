"""Rankers that score a pair once, however many pipelines of a benchmark ask for its score."""

from collections.abc import MutableMapping
from typing import NamedTuple

import numpy as np

from ranklet import runtime
from ranklet.runtime.call.candidates import Candidates, StoredCandidates
from ranklet.runtime.call.protocol import Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.rankers.opening import open_ranker


class Known(NamedTuple):
    """What a ranker said of a pair."""

    score: float
    truncated: bool
    query_truncated: bool


Memory = MutableMapping[tuple[str, int], Known]  # by text of the query, and number of the document


def remember(bundle: runtime.Bundle, name: str, memory: Memory) -> None:
    """Let a ranker of a bundle score each pair of a query and a stored document once.

    That is right for rankers whose score of a pair depends on no other pair. On a CPU those are
    all rankers, because networks read one pair at a time there.

    Args:
        bundle: opened for a benchmark only.
        name: of the ranker.
        memory: what is known; several bundles with the same documents and ranker may share it.
    """
    ranker = open_ranker(bundle.files, name)
    score = ranker.score

    def remembered(query: QueryContext, candidates: Candidates) -> Scores:
        if not isinstance(candidates, StoredCandidates):
            return score(query, candidates)
        keys = [(query.text, number) for number in candidates.stored.tolist()]
        missing = np.flatnonzero([key not in memory for key in keys])
        if len(missing):
            found = score(query, candidates.select(missing))
            cut = set(found.truncated)
            for at, (place, value) in enumerate(
                zip(missing.tolist(), found.values.tolist(), strict=True)
            ):
                memory[keys[place]] = Known(value, at in cut, found.query_truncated)
        pairs = [memory[key] for key in keys]
        return Scores(
            np.array([each.score for each in pairs], np.float32),
            [at for at, each in enumerate(pairs) if each.truncated],
            any(each.query_truncated for each in pairs),
        )

    vars(ranker)["score"] = remembered  # of this ranker only
