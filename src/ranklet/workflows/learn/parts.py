"""Cut judged queries into parts: to learn from, to tune on, to choose on, and to report on."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ranklet.corpus.collections.splits import JudgedQuery, groups, percentile
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.sets import evenly

FEW = 200  # queries below which nothing is trained
LEAST = 20  # queries below which nothing can be chosen
LEAST_RANKED = 100  # queries to choose and to report on, however little time there is
WEIGHING = 1_000  # queries, at most, that teach weights besides those to choose and to report on
RANKED, WEIGHED = 3, 2  # how often a query is ranked that is chosen or reported on, and another one
CHOOSING, REPORTING = 400, 1_000  # queries, at most, which are ranked by every candidate
# Percentiles at which a part ends, in the order of `Parts`.
ENDS = {"all": (46, 58, 75, 100), "few": (0, 0, 65, 100), "train": (66, 80, 100, 100)}


class Parts(NamedTuple):
    """Queries by what they are for; no relevant document is in two parts, unless splits were given.

    Attributes:
        learn: to learn from.
        tune: which choose between weights of one ranker.
        choose: which choose between pipelines.
        report: which are ranked once, at the end.
        answers: the relevant documents of all queries but those to report on.
        unanswered: those of which nothing that was judged is relevant.
    """

    learn: list[JudgedQuery]
    tune: list[JudgedQuery]
    choose: list[JudgedQuery]
    report: list[JudgedQuery]
    answers: frozenset[str]
    unanswered: Sequence[JudgedQuery] = ()

    @property
    def seen(self) -> int:
        """How many reported queries share a relevant document with any other query."""
        return sum(not self.answers.isdisjoint(each.relevant) for each in self.report)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """The number of queries of each part."""
        return len(self.learn), len(self.tune), len(self.choose), len(self.report)

    @property
    def few(self) -> bool:
        """Whether there are too few queries to train a ranker."""
        return not self.learn


def cut_parts(splits: Mapping[str, Sequence[JudgedQuery]]) -> Parts:
    """Return the parts of judged queries.

    A split named test, or else dev, is reported on, and dev is chosen on if there is a test. All
    others are cut by groups of queries that share relevant documents, so that the same queries are
    in the same part in every run.

    Raises:
        InputError: there are too few queries.
    """
    every = merge_splits(splits)
    answered = {name: [one for one in of if one.relevant] for name, of in splits.items()}
    rest = {name: queries for name, queries in answered.items() if queries}
    report = next(
        (rest.pop(name) for name in ("test", "dev") if name in rest and len(rest) > 1), []
    )
    choose = rest.pop("dev") if "dev" in rest and len(rest) > 1 and report else []
    pool = merge_splits(rest)
    total = len(pool) + len(report) + len(choose)
    few = len(pool) + len(choose) < FEW
    if few:
        pool, choose = merge_splits({"pool": pool, "dev": choose}), []
    ends = ENDS["train" if report else "few" if few else "all"]
    if few and report:
        ends = (0, 0, 100, 100)
    learn, tune, chosen, reported = _cut(pool, ends)
    if choose:
        learn, chosen = [*learn, *chosen], choose
    answers = frozenset(name for query in (*learn, *tune, *chosen) for name in query.relevant)
    parts = Parts(
        learn, tune, some(chosen, CHOOSING), some(report or reported, REPORTING), answers,
        [query for query in every if not query.relevant],
    )  # fmt: skip
    sizes = dict(zip(("learn from", "tune on", "choose on", "report on"), parts.sizes, strict=True))
    needed = list(sizes)[2 if few else 1 :]
    if min(sizes[name] for name in needed) < LEAST:
        found = ", ".join(f"{sizes[name]} to {name}" for name in needed)
        raise InputError(
            f"{total:,} judged queries are too few: {found}, where {LEAST} are needed for each "
            "(queries that share relevant documents stay together); judge more queries "
            "(`ranklet judge`)"
        )
    return parts


def fit_parts(parts: Parts, passes: float) -> tuple[Parts, int]:
    """Return parts that there is time to choose and to report on, and how many more can teach.

    At least `LEAST_RANKED` queries of each part are kept, because fewer cannot be sure of anything.

    Args:
        parts: the queries.
        passes: how often a query can be ranked.
    """
    share = passes / (RANKED * (len(parts.choose) + len(parts.report)))
    if share < 1:
        choose, report = (
            some(each, max(LEAST_RANKED, int(share * len(each)))) for each in parts[2:4]
        )
        parts = parts._replace(choose=choose, report=report)
    left = passes - RANKED * (len(parts.choose) + len(parts.report))
    return parts, max(0, min(WEIGHING, int(left / WEIGHED)))


def count_passes(parts: Parts) -> int:
    """Return how often queries are ranked where there is time to choose and to report on all."""
    learn, tune, choose, report = parts.sizes
    return WEIGHED * min(WEIGHING, learn + tune) + RANKED * (choose + report)


def _cut(pool: list[JudgedQuery], ends: Sequence[int]) -> list[list[JudgedQuery]]:
    group = groups({query.id: query.relevant for query in pool})
    places = np.searchsorted(ends, [percentile(group[query.id]) for query in pool], side="right")
    found: list[list[JudgedQuery]] = [[] for _ in ends]
    for query, place in zip(pool, places.tolist(), strict=True):
        found[place].append(query)
    return found


def merge_splits(splits: Mapping[str, Sequence[JudgedQuery]]) -> list[JudgedQuery]:
    """Return queries with an id each; one that is in two splits has the judgements of both."""
    found: dict[str, JudgedQuery] = {}
    for query in (query for queries in splits.values() for query in queries):
        known = found.get(query.id)
        if known and known.text != query.text:
            query = query._replace(id=f"{query.id}-{len(found)}")
        elif known:
            query = query._replace(relevant={**known.relevant, **query.relevant})
        found[query.id] = query
    return list(found.values())


def some(queries: list[JudgedQuery], most: int) -> list[JudgedQuery]:
    """Return at most some queries, evenly spread."""
    return [queries[place] for place in evenly(len(queries), most)]
