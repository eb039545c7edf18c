"""Find what people look for and do not find: the queries that nothing is likely to answer.

They are grouped by the words that their best hits lack.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

from ranklet.corpus.progress import progress
from ranklet.runtime.asks import check_query
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import as_list
from ranklet.runtime.hits import MissingWord, Ranking
from ranklet.runtime.pipelines.pipeline import PipelineLike

# On fourteen collections, half of whose queries have no answer, 68 % of these are below it and 20 %
# of the queries whose best hit is right (`benchmarks relevance`).
BELOW = 0.2
READ = 3  # best hits, in which words are looked for


@dataclass(frozen=True)
class Unanswered:
    """A query that nothing is likely to answer.

    Attributes:
        query: its text.
        count: how often it was asked.
        answerable: how likely its best hit answers it.
        missing: its words that none of its best hits has.
        best: the id and the title of its best hit; None if there is none.
        suggestion: what may have been meant; None if nothing else.
    """

    query: str
    count: int
    answerable: float
    missing: tuple[str, ...]
    best: tuple[str, str] | None
    suggestion: str | None


@dataclass(frozen=True)
class Gap:
    """Queries that nothing is likely to answer, and that lack the same word.

    Attributes:
        word: as most of them have it; "" where no word is missing.
        documents: how many have it; None if that is not known.
        count: how often they were asked.
        queries: the most frequent first.
    """

    word: str
    documents: int | None
    count: int
    queries: tuple[Unanswered, ...]


@dataclass(frozen=True)
class Gaps:
    """What people look for and do not find.

    Attributes:
        queries: how many were asked.
        unanswered: how many of them nothing is likely to answer.
        below: the probability of an answer that they are below.
        gaps: the most frequent first.
    """

    queries: int
    unanswered: int
    below: float
    gaps: tuple[Gap, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def find_gaps(
    bundle: Bundle, queries: Sequence[str], *, below: float = BELOW, pipeline: PipelineLike = None
) -> Gaps:
    """Return the queries that nothing is likely to answer, by the words that their hits lack.

    A query that lacks several words counts with one that no document has, if there is any, and
    else with one that many queries lack and few documents have.

    Args:
        bundle: has the documents.
        queries: as they were asked, again and again if they were.
        below: the probability of an answer, above 0 and up to 1, that the best hit does not reach.
        pipeline: as in `Bundle.rank`.

    Raises:
        InputError: a query is empty, `below` is out of range, or it is not known how likely the
            pipeline's hits answer a query.
    """
    texts = as_list(queries, "queries", "give a list of texts")
    for index, text in enumerate(texts):
        check_query(text, f"queries[{index}]")
    if type(below) not in (int, float) or not 0 < below <= 1:
        raise InputError(f"below must be above 0 and up to 1, not {below!r:.60}")
    asked, found = Counter(texts), list[tuple[Unanswered, list[MissingWord]]]()
    for query, count in progress(asked.items(), "ranking", len(asked)):
        ranking = bundle.rank(query, k=READ, pipeline=pipeline, relevance=True)
        if (ranking.answerable or 0.0) < below:
            missing = bundle.missing_words(query, ranking)
            found.append((_unanswered(ranking, count, missing), missing))
    unanswered = sum(each.count for each, _ in found)
    return Gaps(len(texts), unanswered, float(below), tuple(_grouped(found, len(bundle))))


def _unanswered(ranking: Ranking, count: int, missing: Sequence[MissingWord]) -> Unanswered:
    best = (ranking[0].id, ranking[0].title) if len(ranking) else None
    words, likely = tuple(each.typed for each in missing), ranking.answerable or 0.0
    return Unanswered(ranking.query, count, likely, words, best, ranking.suggestion)


def _grouped(found: Sequence[tuple[Unanswered, Sequence[MissingWord]]], size: int) -> list[Gap]:
    lacking, spellings = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for query, missing in found:
        for word in missing:
            lacking[word.lemma] += query.count
            spellings[word.lemma][word.typed.lower()] += query.count
    none, groups = MissingWord("", "", None), defaultdict[MissingWord, list[Unanswered]](list)

    def weight(word: MissingWord) -> tuple[bool, float, str]:
        idf = 1.0 if word.documents is None else log(1 + size / max(1, word.documents))
        return word.documents == 0, lacking[word.lemma] * idf, word.lemma

    for query, missing in found:
        chosen = max(missing, key=weight, default=none)
        groups[chosen._replace(typed="")].append(query)
    gaps = [
        Gap(
            spellings[word.lemma].most_common(1)[0][0] if word.lemma else "",
            word.documents,
            sum(each.count for each in own),
            tuple(sorted(own, key=lambda each: (-each.count, each.answerable, each.query))),
        )
        for word, own in groups.items()
    ]
    return sorted(gaps, key=lambda each: (-each.count, not each.word, each.word))
