"""All documents that match a query are counted and sorted as a plain loop over them does."""

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.metadata_rows import (
    CATEGORY,
    DUE,
    FIELDS,
    KEYS,
    PRICE,
    SEEN,
    WORDS,
    YEAR,
    a_filter,
    allows,
    plainly,
    rows,
)
from tests.updates import SPLIT, WHOLE, indexed

import ranklet
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import Bundle, InputError, Pipeline, Retrieve
from ranklet.runtime.hits import Ranking
from ranklet.runtime.pipelines.pipeline import Fuse, Keep
from ranklet.runtime.syntax.query_syntax import Query

if TYPE_CHECKING:
    from tests.conftest import Described
    from tests.kinds import TinyRankers

Row = dict[str, Any]
EVERY = Pipeline((Retrieve("bm25", 100_000),))
SINGLE = [name for name in FIELDS if name != KEYS]
ENDS: dict[str, list[Any]] = {
    YEAR: [None, 2019, 2020.5, 2022, 10**30],
    PRICE: [None, -3.0, 0.5, 1, 10**400],
    DUE: [None, "2024-02-28", date(2024, 2, 29), "2024-03-01T10:00:00Z"],
    SEEN: [None, "2024-02-28", date(2024, 2, 29), "2024-02-29T00:30:00Z"],
}


def facets_of(random: Random) -> dict[str, Row | None]:
    """Return random facets, with and without ranges."""
    wanted: dict[str, Row | None] = {}
    for name in random.sample(FIELDS, random.randint(0, 4)):
        options: Row = {"missing": random.random() < 0.5}
        if name in ENDS and random.random() < 0.6:
            pairs = [random.choices(ENDS[name], k=2) for _ in range(2)]
            borders = [*ENDS[name], None]
            options |= random.choice([{"ranges": pairs}, {"ranges": borders}, {"range": True}])
        else:
            options["top"] = random.randint(1, 6)
        wanted[name] = random.choice([None, options, options])
    return wanted


def sort_of(random: Random) -> list[str] | None:
    keys = random.sample(["score", *SINGLE, *(f"-{each}" for each in SINGLE)], random.randint(0, 3))
    return list({each.removeprefix("-"): each for each in keys}.values()) or None


def counts_of(found: list[Row], facets: dict[str, Row | None]) -> dict[str, list[Any]]:
    """Return the facets of documents, in plain Python."""
    counted: dict[str, list[Any]] = {}
    for name, options in facets.items():
        given, amounts = options or {}, Counter[Any]()
        for row in found:
            value = row.get(name)
            amounts.update({*value} if isinstance(value, list) else [value])
        absent = amounts.pop(None, 0)
        pairs = sorted(amounts.items(), key=lambda item: (-item[1], item[0]))
        pairs = pairs[: given.get("top", 10)]
        if "ranges" in given:
            borders = not isinstance(given["ranges"][0], list)
            spans = [*map(tuple, pairwise(given["ranges"]) if borders else given["ranges"])]
            pairs = [(each, sum(within(row, name, *each) for row in found)) for each in spans]
        if given.get("range"):
            ends = sorted(amounts.items())
            pairs = [*ends[:1], *ends[1:][-1:]]
        missing = [(None, absent)] if absent and given.get("missing") else []
        counted[name] = [*pairs, *missing]
    return counted


def within(row: Row, name: str, begin: Any, end: Any) -> bool:
    operators = {">=": begin, "<": end}
    wanted = {sign: value for sign, value in operators.items() if value is not None}
    return row.get(name) is not None and allows({name: wanted}, row)


def in_order(found: list[tuple[Row, float]], sort: list[str] | None) -> list[str]:
    """Return the ids in order; documents with equal keys stay as they are, best first."""
    for key in reversed(sort or []):
        name, down = key.removeprefix("-"), key.startswith("-")
        if name == "score":
            found = sorted(found, key=lambda each: -each[1])
            continue
        there = [each for each in found if each[0].get(name) is not None]
        absent = [each for each in found if each[0].get(name) is None]
        sign = -1 if down else 1
        strings = name == CATEGORY
        values = sorted({each[0][name] for each in there}, key=plainly if strings else None)
        found = sorted(there, key=lambda each: sign * values.index(each[0][name])) + absent
    return [each["id"] for each, _ in found]


def shown(ranking: Ranking) -> dict[str, list[Any]]:
    """Return the facets as they were asked for, where ends of ranges are read."""
    return {name: [*map(tuple, found)] for name, found in ranking.facets.items()}


def plain(value: Any) -> Any:
    """Return a date as a text of a day or of an instant, as which it may have been given."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def compared(bundle: Bundle, held: dict[str, Row], random: Random) -> None:
    """Compare rankings with random options with what plain Python makes of all scores."""
    text = " ".join(random.choices(WORDS, k=random.randint(0, 3)))
    query: str | Query = text
    if random.random() < 0.3:
        query = Query.parse(f"{text and chr(34) + text + chr(34)} -{random.choice(WORDS)}")
    every = [(held[name], score) for name, score in bundle.rank_ids(query, k=10**6, pipeline=EVERY)]
    assert {row["id"] for row, _ in every} == set(held) or query != ""
    where = random.choice([None, a_filter(random), a_filter(random)])
    least = random.choice([None, None, every[len(every) // 2][1] if every else 0.0])
    found = [
        (row, score)
        for row, score in every
        if (where is None or allows(where, row)) and (least is None or score >= least)
    ]
    facets, sort = facets_of(random), sort_of(random)
    k, offset = random.randint(0, 8), random.randint(0, 12)
    picked = random.sample([*held], random.choice([0, 0, 0, 5]))
    pin, hide = picked[:2], picked[2:]
    first = [held[name] for name in pin if where is None or allows(where, held[name])]
    found = [each for each in found if each[0]["id"] not in picked]
    part = bundle if where is None or random.random() < 0.5 else bundle.only(where)
    ranking = part.rank(
        query, k=k, offset=offset, where=where if part is bundle else None, min_score=least,
        facets=facets, sort=sort, pipeline=Pipeline((Retrieve("bm25", 40),)), pin=pin, hide=hide,
    )  # fmt: skip
    assert ranking.total == len(first) + len(found)
    assert ranking.exact
    pages = [*(row["id"] for row in first), *in_order(found, sort)]
    assert [hit.id for hit in ranking] == pages[offset : offset + k]
    scores = {row["id"]: score for row, score in every}
    assert all(hit.pinned or hit.score == scores[hit.id] for hit in ranking)
    wanted = counts_of([*first, *(row for row, _ in found)], facets)
    assert {name: plain_counts(each) for name, each in shown(ranking).items()} == {
        name: plain_counts(each) for name, each in wanted.items()
    }


def plain_counts(found: list[Any]) -> list[Any]:
    return [(plain(value), count) for value, count in found]


def states(folder: Path, random: Random, rankers: Path) -> Iterator[tuple[Bundle, dict[str, Row]]]:
    """Yield a bundle and its documents, before and after each of some writes."""
    made = rows(random, 30)
    options = random.choice([WHOLE, SPLIT])
    target = indexed(rankers, made, folder / "live", options)
    bundle = ranklet.open(target, writable=True)
    assert isinstance(bundle, WritableBundle)
    held = {row["id"]: row for row in made}
    yield bundle, held
    for step in range(2):
        gone = random.sample([*held], 3)
        kept = [name for name in held if name not in gone]
        names = [*random.sample(kept, 2), *(f"n{step}-{at}" for at in range(5)), f"x{step}"]
        new = [row | {"id": id_} for id_, row in zip(names, rows(random, 8), strict=True)]
        new[-1] |= {CATEGORY: "between", PRICE: 2**40, YEAR: 2020}
        bundle.change(new, gone)
        held = {name: held[name] for name in kept} | {row["id"]: row for row in new}
        yield bundle, held


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_all_that_matches_is_counted_and_sorted_as_by_a_plain_loop(
    seed: int, tmp_path: Path, built: Any
) -> None:
    random = Random(seed)
    for bundle, held in states(tmp_path, random, built.exported):
        for _ in range(60):
            compared(bundle, held, random)


@pytest.mark.slow
def test_what_a_pipeline_did_not_score_has_its_lowest_score(
    tiny: "TinyRankers", tmp_path: Path
) -> None:
    random = Random(3)
    made = rows(random, 30)
    bundle = Bundle(indexed(tiny.exported("dense"), made, tmp_path / "both", WHOLE))
    (name,) = (each for each in bundle.manifest.rankers if each.startswith("dense"))
    held, text = {row["id"]: row for row in made}, "mouse gnorp"
    words = {id_ for id_, _ in bundle.rank_ids(text, pipeline=EVERY)}
    lists = (Retrieve("bm25", 3), Retrieve(name, 6))
    for fuse in (Fuse("linear", ("bm25", name), (0.5, 0.5)), Fuse("alternate", ("bm25", name))):
        pipeline = Pipeline((*lists, fuse))
        known = dict(bundle.rank_ids(text, pipeline=pipeline))
        near = {id_ for id_, _ in bundle.rank_ids(text, pipeline=Pipeline(lists[1:]))}
        every = {id_: known.get(id_, min(known.values())) for id_ in words | near}
        numbers = {row["id"]: at for at, row in enumerate(made)}
        ordered = sorted(every, key=lambda id_: (-every[id_], numbers[id_]))
        found = [(held[id_], every[id_]) for id_ in ordered]
        for sort in (["-year"], ["score"], [CATEGORY, "score", f"-{SEEN}"]):
            facets = dict.fromkeys(FIELDS)
            ranking = bundle.rank(text, k=50, pipeline=pipeline, sort=sort, facets=facets)
            assert [hit.id for hit in ranking] == in_order(found, sort)
            assert [hit.score for hit in ranking] == [np.float32(every[hit.id]) for hit in ranking]
            assert (ranking.total, ranking.exact) == (len(every), False)
            assert shown(ranking) == counts_of([row for row, _ in found], facets)
            alone = bundle.rank(text, k=0, offset=9, pipeline=pipeline, sort=sort, facets=facets)
            assert (len(alone), alone.total, alone.facets) == (0, ranking.total, ranking.facets)
            assert len(alone.timings) == 3  # of the list by vectors, no hits and the counts
    last = bundle.rank(text, k=50, pipeline=pipeline, sort=["score"], explain=True)[-1]
    assert last.explanation is not None
    assert last.explanation.label == "fused: it was not scored, so it gets the lowest score"
    alone = bundle.rank(text, k=2, pipeline=Pipeline((*lists[1:], Keep(4))), facets=[])
    assert (alone.total, alone.exact, alone.facets) == (6, False, {})


def test_boosted_scores_and_groups_are_sorted_by(described: "Described") -> None:
    bundle, text = described.bundle, " ".join(WORDS)
    boost = {YEAR: {"linear": True, "weight": 0.1}}
    every = bundle.rank(text, k=100, boost=boost)
    for k in (1, 3, 7):
        ranking = bundle.rank(text, k=k, boost=boost, sort=[f"-{CATEGORY}"], group_by=CATEGORY)
        held = {row["id"]: row for row in described.rows}
        ordered = in_order([(held[hit.id], hit.score) for hit in every], [f"-{CATEGORY}"])
        best: dict[Any, str] = {}
        for id_ in ordered:
            best.setdefault(held[id_].get(CATEGORY, id_), id_)
        assert [hit.id for hit in ranking] == [*best.values()][:k]
        scores = {hit.id: hit.score for hit in every}
        assert [hit.score for hit in ranking] == [scores[hit.id] for hit in ranking]
        assert ranking.total == len(every)


@pytest.mark.parametrize("more", [{}, {"min_score": -1.0}, {"sort": [YEAR]}])
def test_matches_that_there_was_no_time_to_read_are_said(
    described: "Described", more: dict[str, Any]
) -> None:
    query = Query.parse('"mouse gnorp"')  # which five documents have
    every = described.bundle.rank(query, facets=[], **more)
    some = described.bundle.rank(query, facets=[], budget_ms=0, **more)
    assert every.exact
    assert every.total is not None
    assert some.total is not None
    assert 0 < some.total < every.total
    assert (some.exact, some.budget_spent) == (False, True)
    assert some.left_out[-1].endswith("documents that match")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"facets": "year"}, "facets must be a list of fields, or an object"),
        ({"facets": ["yaer"]}, r"facets: unknown field 'yaer' \(did you mean 'year'\?\)"),
        ({"facets": [5]}, "facets: a field is named by a string, not 5"),
        (
            {"facets": {YEAR: {"tpo": 5}}},
            "facets: 'year' takes an object with top, ranges, range, missing",
        ),
        ({"facets": {YEAR: {"top": 0}}}, "'year': top must be a whole number, 1 or more, not 0"),
        ({"facets": {YEAR: {"missing": 1}}}, "missing is true or false, not 1"),
        ({"facets": {YEAR: {"range": 1}}}, "range is true or false, not 1"),
        (
            {"facets": {YEAR: {"range": True, "ranges": [1, 2]}}},
            "only one of top, ranges and range",
        ),
        ({"facets": {CATEGORY: {"range": True}}}, "ranges are of numbers and dates"),
        ({"facets": {YEAR: {"ranges": []}}}, "ranges is a list of borders"),
        ({"facets": {YEAR: {"ranges": [1]}}}, "ranges is a list of borders"),
        ({"facets": {YEAR: {"ranges": [[1, 2, 3]]}}}, "ranges is a list of borders"),
        ({"facets": {YEAR: {"ranges": [[1, 2]], "top": 3}}}, "only one of top"),
        ({"facets": {YEAR: {"ranges": [["a", 2]]}}}, "facets: 'year' holds numbers, so it cannot"),
        ({"facets": {CATEGORY: {"ranges": [["a", "b"]]}}}, "ranges are of numbers and dates"),
        ({"sort": "year"}, "sort must be a list, not str; give one such as"),
        ({"sort": []}, "sort must be a list such as"),
        ({"sort": ["yaer"]}, r"sort: unknown field 'yaer' \(did you mean 'year'\?\)"),
        ({"sort": ["-yaer"]}, r"sort: unknown field 'yaer' \(did you mean 'year'\?\)"),
        ({"sort": [None]}, "sort has None; give texts, such as"),
        ({"sort": ["-score"]}, "the best score is always first; write 'score'"),
        ({"sort": ["tags"]}, "sort: 'tags' holds lists of strings"),
        ({"sort": ["year", "-year"]}, "a field can order documents once"),
        ({"sort": ["year"], "relevance": True}, "only a pipeline's candidates have a relevance"),
        ({"sort": ["year"], "min_relevance": 0.5}, "leave one of them out"),
        ({"sort": ["year"], "documents": ["bread"]}, "texts of your own have no metadata"),
        ({"facets": [], "documents": ["bread"]}, "texts of your own have no metadata"),
    ],
)
def test_what_cannot_be_counted_or_sorted_by_is_refused(
    described: "Described", options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        described.bundle.rank("bread", **options)
