"""Documents that come first and documents that are left out, compared with a plain model."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.metadata_rows import CATEGORY, WORDS, YEAR, a_filter, allows, rows

import ranklet
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import Bundle, InputError, load
from ranklet.runtime.pipelines.pipeline import Pipeline, Retrieve

Row = dict[str, Any]


def compare(bundle: Bundle, made: dict[str, Row], gone: list[str], random: Random) -> None:
    """Compare all pages with the plain ranking, from which pins and hidden ones are taken."""
    query = " ".join(random.choices(WORDS, k=random.randint(1, 2)))
    ids = random.sample([*made, *gone, "nobody"], random.randint(1, 9))
    cut = random.randint(0, len(ids))
    pin, hide = ids[:cut], ids[cut:]
    where = random.choice([{}, a_filter(random)])
    plain = bundle.rank_ids(query, where=where)
    first = [each for each in pin if each in made and allows(where, made[each])]
    wanted = [*first, *(name for name, _ in plain if name not in ids)]
    scores = dict(bundle.rank_ids(query, pipeline=Pipeline((Retrieve("bm25", 9999),))))
    k = random.randint(1, 7)
    pages = [
        bundle.rank(query, k=k, offset=at, where=where, pin=pin, hide=hide, explain=True)
        for at in range(0, len(wanted) + 1, k)
    ]
    hits = [hit for page in pages for hit in page]
    assert [(hit.id, hit.pinned) for hit in hits] == [
        (name, at < len(first)) for at, name in enumerate(wanted)
    ]
    assert [hit.score for hit in hits] == [scores.get(name, 0) for name in wanted]
    for page in pages:
        assert page.unknown == tuple(each for each in ids if each not in made)
        assert page.to_dict().get("unknown", []) == [*page.unknown]
    for hit in hits:
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, abs=1e-5)
        assert hit.explanation.label.startswith("pinned") == hit.pinned
        assert hit.to_dict().get("pinned", False) == hit.pinned


@pytest.mark.slow
def test_pins_come_first_on_all_pages_and_hidden_ones_on_none(tmp_path: Path) -> None:
    random, path = Random(4), tmp_path / "rows.ranklet"
    made = {row["id"]: row for row in rows(random, 50)}
    ranklet.build(made.values(), path)
    for _ in range(25):
        compare(load(path), made, [], random)
    with WritableBundle(path) as live:
        more = {f"n{row['id']}": {**row, "id": f"n{row['id']}"} for row in rows(random, 9)}
        live.add([*more.values()])
        gone = random.sample([*made], 8)
        live.delete(gone)
    left = {name: row for name, row in {**made, **more}.items() if name not in gone}
    for _ in range(25):
        compare(load(path), left, gone, random)
    part = load(path).only({YEAR: {">=": 2020}})
    seen = {name: row for name, row in left.items() if row.get(YEAR, 0) >= 2020}
    hidden = [name for name in left if name not in seen]
    for _ in range(15):  # an id that is hidden by the key's filter is as unknown as any other
        compare(part, seen, [*gone, *hidden], random)


def test_a_pinned_document_is_shown_by_its_best_passage_and_counts_as_a_group(
    tmp_path: Path,
) -> None:
    made = [
        {"id": "a", "text": "Cats sleep a lot. Water boils fast.", "kind": "x"},
        {"id": "b", "text": "Dogs bark at cats. Water boils.", "kind": "x"},
        {"id": "c", "text": "Water rises slowly. Bread rises.", "kind": "y"},
    ]
    options = SourceOptions(passage_words=4, overlap_words=0)
    bundle = load(ranklet.build(made, tmp_path / "split.ranklet", source=options).path)
    pinned, *others = bundle.rank("cats water", pin=["c"], hide=["b"])
    assert (pinned.id, pinned.text, pinned.passage) == ("c", "Water rises slowly.", 1)
    assert [hit.id for hit in others] == ["a"]
    groups = bundle.rank("water", pin=["a"], group_by="kind", k=3)
    assert (groups[0].id, groups[0].pinned) == ("a", True)
    assert {hit.id for hit in groups} == {"a", "b", "c"}
    assert [hit.id for hit in bundle.rank("water", pin=["c", "a"], k=1, offset=1)] == ["a"]
    assert not len(bundle.rank("water", pin=["c"], k=0))
    assert len(bundle.rank("nothing", pin=["c"], min_score=99)) == 1


def test_what_cannot_be_pinned_is_said(tmp_path: Path) -> None:
    bundle = load(ranklet.build([{"id": "a", "text": "dough"}], tmp_path / "a.ranklet").path)
    for options, message in (
        ({"pin": "a"}, "pin must be a list"),
        ({"hide": [1]}, "hide has 1; give texts"),
        ({"pin": ["a"], "hide": ["a"]}, "'a' is pinned and hidden"),
        ({"pin": ["a"] * 10_001}, "at most 10,000"),
        ({"pin": ["a"], "documents": ["dough"]}, "only documents that a bundle has"),
    ):
        with pytest.raises(InputError, match=message):
            bundle.rank("dough", **options)
    assert bundle.rank("dough", pin=[], hide=[]).hits == bundle.rank("dough").hits
    assert CATEGORY not in bundle.metadata
