"""A bundle that is written to while it is read finds what a plain model of it finds."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.updates import SPLIT, WHOLE, WORDS, Record, changes, first_records, held, indexed, seeded

import ranklet
from ranklet.corpus.updating import writable
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import additions_of
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipeline import Pipeline, Retrieve
from ranklet.runtime.ranking import load
from ranklet.runtime.syntax.query_syntax import Query

if TYPE_CHECKING:
    from tests.conftest import Built

STEPS = 3
EXACT = ("vectors", "exhaustive")  # kinds of indexes whose scores depend on no other document


def rankers_of(bundle: Bundle) -> list[str]:
    return [name for name, e in bundle.manifest.rankers.items() if KINDS[e.kind].retrieves]


def compared(live: Bundle, records: list[Record], scratch: Bundle) -> None:
    """Compare a bundle with its records, and its hits with those of a build from scratch."""
    assert len(live) == len(records)
    assert live.passages == scratch.passages
    for each in records:
        document, other = live.document(each["id"]), scratch.document(each["id"])
        assert document == other
    query = " ".join(WORDS[:9])
    years = {each["id"] for each in records if each.get("year", 0) > 2005}
    new = {each["id"] for each in records if not each.get("new")}
    fields = set(live.metadata)
    for name in rankers_of(live):
        pipeline = Pipeline((Retrieve(name, 50),))
        ours = dict(live.rank_ids(query, pipeline=pipeline))
        theirs = dict(scratch.rank_ids(query, pipeline=pipeline))
        assert ours.keys() == theirs.keys()
        if KINDS[live.manifest.rankers[name].kind].index in EXACT:
            assert ours == pytest.approx(theirs)
        if "year" in fields:
            found = live.rank_ids(query, pipeline=pipeline, where={"year": {">": 2005}})
            assert {id_ for id_, _ in found} == ours.keys() & years
            found = live.rank_ids(query, pipeline=pipeline, where={"not": {"new": True}})
            assert {id_ for id_, _ in found} == ours.keys() & new
            groups = live.rank(query, k=50, pipeline=pipeline, group_by="brand")
            brands = [hit.metadata.get("brand", hit.id) for hit in groups]
            assert len(brands) == len(set(brands))
        for hit in live.rank(query, k=3, pipeline=pipeline, explain=True):
            assert hit.explanation is not None
            assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
            assert [*live.highlight(hit)] or not hit.explanation.parts or hit.score == 0
    for text in ('"running mouse"', "-cats run", "mic* -river", '-"the house" houses'):
        asked = Query.parse(text)
        assert {id_ for id_, _ in live.rank_ids(asked)} == {
            id_ for id_, _ in scratch.rank_ids(asked)
        }
    names = [each["id"] for each in records]
    scores = live.score(query, ids=names)
    assert np.isfinite(scores).all()


def follow(rankers: Path, seed: int, folder: Path, steps: int = STEPS) -> None:
    """Make a random sequence of writes, and compare after each, and after the last is compacted."""
    rng = seeded(seed)
    options = (WHOLE, SPLIT)[seed % 2]
    records = first_records(rng)
    target = indexed(rankers, records, folder / "live", options)
    bundle = ranklet.open(target, writable=True)
    assert isinstance(bundle, writable.WritableBundle)
    for step, change in enumerate(changes(records, rng, steps)):
        bundle.change(change.add or None, change.delete)
        records = change.after
        scratch = Bundle(indexed(rankers, records, folder / "scratch", options))
        compared(bundle, records, scratch)
        compared(load(target), records, scratch)
        if rng.random() < 0.2 or step == steps - 1:
            bundle.compact()
            assert held(target) == held(folder / "scratch")
            assert bundle.additions is None
            assert not additions_of(target).exists()  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", range(4))
def test_a_sequence_of_writes_is_as_from_scratch(seed: int, built: "Built", tmp_path: Path) -> None:
    follow(built.exported, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_and_so_it_is_for_every_kind(kind: str, tiny: TinyRankers, tmp_path: Path) -> None:
    for seed in (10, 11):
        follow(tiny.exported(kind), seed, tmp_path)
