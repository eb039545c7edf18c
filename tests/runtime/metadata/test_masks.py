"""Filters on all documents, against plain Python, for thousands of filters and queries."""

from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.metadata_rows import FIELDS, WORDS, a_filter, allows

from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.ground.errors import OutOfTimeError
from ranklet.runtime.metadata import masks as masks_module
from ranklet.runtime.metadata.columns import Metadata
from ranklet.runtime.metadata.masks import CACHED, Masks, evaluate
from ranklet.runtime.metadata.where import read_where

if TYPE_CHECKING:
    from tests.conftest import Described


@pytest.mark.slow
def test_10_000_filters_and_queries_give_what_brute_force_gives(described: "Described") -> None:
    random, bundle, rows = Random(11), described.bundle, described.rows
    queries = [" ".join(random.choices(WORDS, k=random.randint(1, 3))) for _ in range(20)]
    unfiltered = {query: bundle.rank_ids(query, k=len(rows)) for query in queries}
    by_id = {row["id"]: row for row in rows}
    found = 0
    for _ in range(10_000):
        query, where, k = random.choice(queries), a_filter(random), random.choice([1, 5, 80])
        allowed = [each for each in unfiltered[query] if allows(where, by_id[each[0]])][:k]
        assert bundle.rank_ids(query, k=k, where=where) == allowed, (query, where)
        found += 0 < len(allowed) < len(unfiltered[query])
    assert found > 2_500  # the filters are not trivial


@pytest.mark.parametrize("name", FIELDS)
def test_conditions_on_one_field_allow_what_plain_python_allows(
    described: "Described", name: str
) -> None:
    random, metadata = Random(5), Metadata(BundleFiles(described.path))
    for _ in range(200):
        where = {random.choice(["and", "or"]): [a_filter(random, 1, [name]) for _ in range(5)]}
        mask = evaluate(read_where(where, metadata.types), metadata)
        assert mask.tolist() == [allows(where, row) for row in described.rows], where


def test_a_long_filter_looks_at_the_deadline_and_a_short_one_is_always_evaluated(
    described: "Described", monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = Metadata(BundleFiles(described.path))
    pairs = [{"year": 2018 + at % 5, "category": "a"} for at in range(40)]
    condition = read_where({"or": pairs}, metadata.types)
    whole = evaluate(condition, metadata)
    assert evaluate(condition, metadata, Deadline(0)).tolist() == whole.tolist()
    monkeypatch.setattr(masks_module, "_FREE", 20 * len(metadata))
    assert evaluate(condition, metadata, Deadline(1e6)).tolist() == whole.tolist()
    with pytest.raises(OutOfTimeError, match="simplify 'where'"):
        evaluate(condition, metadata, Deadline(0))


def test_few_masks_are_kept_and_none_can_be_changed(described: "Described") -> None:
    metadata = Metadata(BundleFiles(described.path))
    masks = Masks(metadata)
    first = read_where({"year": 2018}, metadata.types)
    kept = masks.mask(first)
    assert masks.mask(read_where({"year": {"==": 2018.0}}, metadata.types)) is kept
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = True
    for year in range(CACHED):
        masks.mask(read_where({"year": year}, metadata.types))
    again = masks.mask(first)
    assert again is not kept
    assert again.tolist() == kept.tolist()
