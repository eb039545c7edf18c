"""A bundle that shows only some of its documents."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.metadata_rows import FIELDS, WORDS, allows

from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime import Bundle, BundleError, InputError, UnknownDocumentError, load
from ranklet.runtime.ground.errors import OutOfTimeError
from ranklet.runtime.pipelines.pipeline import Pipeline, Rescore, Retrieve
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Described

QUERY = " ".join(WORDS)
WHERE: dict[str, Any] = {"category": ["a", "é"]}
FURTHER: list[dict[str, Any]] = [
    {},
    {"category": "b"},
    {"or": [{}, {"category": "b"}]},
    {"not": {"category": "a"}},
    {"category": {"missing": True}},
    {"year": {">=": 2020}},
]


def test_only_its_documents_are_found_counted_and_shown(described: "Described") -> None:
    part = described.bundle.only(WHERE)
    inside = {row["id"] for row in described.rows if allows(WHERE, row)}
    assert 5 < len(part) == len(inside) < len(described.bundle)
    assert part.size == f"{len(inside)} documents"
    texts = {row["text"][:60] for row in described.rows if row["id"] in inside}
    assert set(part.sample_texts(100)) <= texts
    assert {hit.id for hit in part.rank(QUERY, k=100)} <= inside
    for where in FURTHER:
        wanted = [row["id"] for row in described.rows if row["id"] in inside and allows(where, row)]
        assert sorted(name for name, _ in part.rank_ids(QUERY, where=where)) == sorted(wanted)
        twice = part.only(where)
        assert len(twice) == len(wanted)
        assert {hit.id for hit in twice.rank(QUERY, k=100)} == set(wanted)
    assert set(part.features(QUERY)[0]) <= inside
    assert len(described.bundle.rank_ids(QUERY)) == len(described.bundle)  # it has not changed


def test_ids_of_others_are_as_unknown_as_ids_of_none(described: "Described") -> None:
    part = described.bundle.only(WHERE)
    inside = next(row["id"] for row in described.rows if allows(WHERE, row))
    outside = next(row["id"] for row in described.rows if not allows(WHERE, row))
    messages = []
    for name in (outside, "nobody"):
        for call in (
            lambda each=name: part.explain("bread", each),
            lambda each=name: part.explained("bread", each),
            lambda each=name: part.score("bread", ids=[inside, each]),
        ):
            with pytest.raises(UnknownDocumentError) as raised:
                call()
            messages.append(str(raised.value).replace(name, "…"))
    assert set(messages) == {"unknown document id '…'"}
    whole = described.bundle.score("bread water", ids=[inside])
    assert np.array_equal(part.score("bread water", ids=[inside]), whole)
    assert part.explain("bread water", inside).value == pytest.approx(float(whole[0]), abs=1e-6)


def test_texts_of_the_caller_are_ranked_as_ever(described: "Described") -> None:
    part = described.bundle.only(WHERE)
    assert part.rank("bread", ["bread", "cat"]).hits == described.bundle.rank(
        "bread", ["bread", "cat"]
    ).hits  # fmt: skip


def test_passages_of_a_document_share_its_metadata(tmp_path: Path) -> None:
    text = "Bread rises slowly. Water boils fast. Cats sleep a lot. Dogs bark at cats."
    rows = [{"id": f"d{n}", "text": text, "n": n, "tags": [f"t{n % 2}"]} for n in range(6)]
    options = SourceOptions(passage_words=4, overlap_words=0)
    bundle = Bundle(Path(build(rows, tmp_path / "split.ranklet", source=options)))
    assert bundle.passages == 24
    part = bundle.only({"n": {">=": 3}})
    assert (len(part), part.passages) == (3, 12)
    assert part.size == "3 documents in 12 passages"
    assert (len(bundle.sample_texts(9)), len(part.sample_texts(9))) == (6, 3)
    found = bundle.rank("cats", where={"tags": {"has": "t1"}})
    assert [hit.id for hit in found] == ["d1", "d3", "d5"]
    assert [hit.metadata["n"] for hit in found] == [1, 3, 5]
    assert all(hit.passage for hit in found)
    with pytest.raises(UnknownDocumentError):
        part.explain("cats", "d1")
    with pytest.raises(UnknownDocumentError):
        part.document("d1")
    assert part.explained("cats", "d4").passage in (3, 4)
    whole = part.document("d4")
    assert (whole.text, whole.metadata["n"]) == (text, 4)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("check", ["fast", "full"])
def test_a_column_that_was_changed_decides_nothing(
    described: "Described", tmp_path: Path, field: str, check: Any
) -> None:
    where = {field: {"missing": False}}
    path = shutil.copytree(described.path, tmp_path / "changed")
    folder = path / "metadata" / str(list(described.bundle.metadata).index(field))
    for victim in folder.iterdir():
        content = victim.read_bytes()
        victim.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))  # of the same size
        with pytest.raises(BundleError, match=f"{victim.name} was changed after export"):
            Bundle(path, check).only(where)
        victim.write_bytes(content)
    assert len(Bundle(path, check).only(where))


def test_a_filter_that_cannot_be_used_makes_no_part(described: "Described") -> None:
    with pytest.raises(InputError, match="unknown field 'tenant'"):
        described.bundle.only({"tenant": "a"})


def test_a_document_that_there_is_no_time_to_explain_is_an_error(tmp_path: Path) -> None:
    texts = [{"id": each, "text": f"Rye bread and {each}."} for each in ("rye", "oats")]
    bundle = load(build(texts, tmp_path / "b.ranklet"))
    stages = Pipeline((Retrieve("bm25", 10), Rescore("bm25")))
    whole = bundle.explained("bread", "oats", pipeline=stages)
    assert bundle.explained("bread", "oats", pipeline=stages, budget_ms=1e6) == whole
    with pytest.raises(OutOfTimeError, match="before the document was explained"):
        bundle.explained("bread", "oats", pipeline=stages, budget_ms=0)
