"""Scores that metadata add to, compared with a plain model of them, to the bit."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.metadata_rows import (
    CATEGORIES,
    CATEGORY,
    DUE,
    KEYS,
    OPEN,
    PRICE,
    SEEN,
    TAGS,
    WORDS,
    YEAR,
    a_filter,
    allows,
    rows,
)

import ranklet
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import Bundle, InputError, UnknownDocumentError, load
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve
from ranklet.runtime.search.local import LocalSearch

NOW = datetime(2024, 2, 29, 1, 30, tzinfo=UTC)
Rows = Sequence[Mapping[str, Any]]


def a_boost(random: Random) -> dict[str, dict[str, Any]]:
    """Return a boost by some fields of `metadata_rows`."""
    each: dict[str, dict[str, Any]] = {
        DUE: {"half_life": random.choice([3, "2d", "12h"]), "now": NOW.isoformat()},
        SEEN: {"half_life": "6h", "now": NOW},
        YEAR: random.choice([{"log": True}, {"saturation": 2019}, {"linear": True}]),
        PRICE: random.choice([{"linear": True}, {"log": True}, {"saturation": np.float32(1.5)}]),
        CATEGORY: {"in": random.sample(CATEGORIES, 2)},
        OPEN: {"equals": True},
        KEYS: {"equals": random.choice(TAGS)},
    }
    chosen = random.sample(list(each), random.randint(1, 4))
    return {name: {**each[name], "weight": random.choice([0.5, 1, -0.25, 0])} for name in chosen}


def amount(signal: Mapping[str, Any], value: Any) -> float:
    """Return what a signal says of a value, in plain Python."""
    if value is None:
        return 0.0
    if "half_life" in signal:
        days = {"2d": 2, "12h": 0.5, "6h": 0.25}.get(signal["half_life"], signal["half_life"])
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return float(2 ** (-max(0.0, (NOW - value).total_seconds() / 86_400) / days))
    if "log" in signal:
        return math.log10(1 + max(value, 0))
    if "saturation" in signal:
        return float(max(value, 0) / (max(value, 0) + float(signal["saturation"])))
    if "linear" in signal:
        return float(value)
    wanted = signal.get("in", [signal.get("equals")])
    held = value if isinstance(value, list) else [value]
    return float(any(each in wanted for each in held))


def unit_of(bundle: Bundle, query: str) -> float:
    """Return the score of a perfect match by BM25."""
    search = bundle._search
    assert isinstance(search, LocalSearch)
    return 1 / search.ranker("bm25").scale(search.read(query))


def model(
    bundle: Bundle, made: Rows, query: str, boost: Mapping[str, Any], where: dict[str, Any]
) -> list[tuple[str, float]]:
    """Return all hits with their scores, best first, of what the words alone say."""
    unit, place = unit_of(bundle, query), {row["id"]: at for at, row in enumerate(made)}
    plain = bundle.rank_ids(query, pipeline=Pipeline((Retrieve("bm25", 10_000),)))
    found = []
    for name, score in plain:
        row, total = made[place[name]], float(score)
        if not allows(where, row):
            continue
        for field, signal in boost.items():
            total += signal["weight"] * (unit * amount(signal, row.get(field)))
        found.append((name, float(np.float32(total))))
    return sorted(found, key=lambda hit: (-hit[1], place[hit[0]]))


def compare(bundle: Bundle, made: Rows, random: Random, count: int) -> None:
    for _ in range(count):
        query = " ".join(random.choices(WORDS, k=random.randint(1, 3)))
        boost, where = a_boost(random), random.choice([{}, a_filter(random)])
        wanted, k = model(bundle, made, query, boost, where), random.randint(1, 9)
        pages = [
            bundle.rank(query, k=k, offset=at, where=where, boost=boost, explain=at == 0)
            for at in range(0, len(wanted) + 1, k)
        ]
        assert [(hit.id, hit.score) for page in pages for hit in page] == wanted
        for hit in pages[0]:
            explained = bundle.explained(query, hit.id, boost=boost)
            for each in (hit.explanation, explained.explanation):
                assert each is not None
                assert each.value == pytest.approx(hit.score, rel=1e-6, abs=1e-6)
                assert sum(part.value for part in each.parts) == pytest.approx(each.value)


@pytest.mark.slow
def test_boosted_scores_are_those_of_a_plain_model(tmp_path: Path) -> None:
    random = Random(58)
    made = rows(random, 60)
    path = tmp_path / "rows.ranklet"
    ranklet.build(made, path)
    compare(load(path), made, random, 20)
    with WritableBundle(path) as live:
        more = [{**row, "id": f"n{row['id']}"} for row in rows(random, 12)]
        live.add(more)
        gone = {row["id"] for row in random.sample(made, 10)}
        live.delete(sorted(gone))
    left = [row for row in made if row["id"] not in gone] + more
    compare(load(path), left, random, 20)
    part = load(path).only({YEAR: {">=": 2020}})
    compare(part, [row for row in left if row.get(YEAR, 0) >= 2020], random, 10)


def test_all_matches_of_words_are_boosted_and_a_pipeline_s_own_candidates_otherwise(
    tmp_path: Path,
) -> None:
    made = [{"id": str(n), "text": "dough " * (40 - n), "stars": n} for n in range(40)]
    bundle = load(ranklet.build(made, tmp_path / "rows.ranklet").path)
    boost = {"stars": {"linear": True, "weight": 9}}
    few = Pipeline((Retrieve("bm25", 3),))
    found = bundle.rank("dough", pipeline=few, boost=boost)
    assert [hit.id for hit in found] == ["39", "38", "37"]  # no more than it retrieves
    own = Pipeline.from_json(few.to_json()).boosted(())
    assert own == few
    assert bundle.rank("dough", k=3, boost={}).hits == bundle.rank("dough", k=3).hits


def test_what_cannot_be_boosted_by_is_said(tmp_path: Path) -> None:
    made = [{"id": "a", "text": "dough", "stars": 3, "kind": "x", "day": date(2024, 1, 1)}]
    bundle = load(ranklet.build(made, tmp_path / "rows.ranklet").path)
    weight = {"weight": 1}
    for boost, message in (
        ({"star": {"log": True, **weight}}, "did you mean 'stars'"),
        ({"kind": {"log": True, **weight}}, "holds strings, and log needs numbers"),
        ({"stars": {"half_life": 3, **weight}}, "half_life needs dates or dates with times"),
        ({"stars": {"equals": "x", **weight}}, "boost: 'stars' holds numbers"),
        ({"stars": {"log": True}}, "the weight of 'stars' is None"),
        ({"stars": weight}, "needs a weight and one of half_life"),
        ({"stars": {"log": True, "now": "2024-01-01", **weight}}, "'now' is not known there"),
        ({"day": {"half_life": "0d", **weight}}, 'such as "12h"'),
        ({"day": {"half_life": 1, "now": "May", **weight}}, "give an instant"),
        ({"stars": {"linear": True, "weight": float("nan")}}, "the weight of 'stars' is nan"),
        ({f"f{n}": {} for n in range(17)}, "at most 16"),
        ([], "boost must be an object"),
    ):
        with pytest.raises(InputError, match=message):
            bundle.rank("dough", boost=boost)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="boost: texts of your own have no metadata"):
        bundle.rank("dough", ["dough"], boost={"stars": {"log": True, **weight}})
    huge = {"stars": {"linear": True, "weight": 1e6}}
    wide = [{"id": "a", "text": "dough", "stars": 1e300}]
    with pytest.raises(InputError, match="too large"):
        load(ranklet.build(wide, tmp_path / "wide.ranklet").path).rank("dough", boost=huge)
    with pytest.raises(UnknownDocumentError):
        bundle.explain("dough", "b", boost=huge)


def test_the_clock_counts_where_now_is_not_given(tmp_path: Path) -> None:
    made = [{"id": "old", "text": "dough", "day": date(2000, 1, 1)},
            {"id": "future", "text": "dough", "day": date(2900, 1, 1)}]  # fmt: skip
    bundle = load(ranklet.build(made, tmp_path / "rows.ranklet").path)
    boost = {"day": {"half_life": "1y", "weight": 2}}
    best, last = bundle.rank("dough", boost=boost)
    plain, unit = bundle.rank("dough")[0].score, unit_of(bundle, "dough")
    assert (best.id, last.id) == ("future", "old")
    assert best.score == pytest.approx(plain + 2 * unit)
    assert plain <= last.score < plain + 1e-4 * unit
