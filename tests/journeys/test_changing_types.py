"""What becomes of the types of metadata while a collection is updated, as docs/updating.md says."""

from pathlib import Path
from typing import Any

import pytest

from ranklet.corpus.updating.merge import merge
from ranklet.corpus.updating.update import update
from ranklet.runtime import InputError, load
from ranklet.workflows.build import build


def stored(path: Path) -> dict[str, dict[str, Any]]:
    return {hit.id: dict(hit.metadata) for hit in load(path).rank("bread", k=100)}


def typed(values: dict[str, dict[str, Any]], name: str) -> dict[str, type]:
    return {each: type(fields[name]) for each, fields in values.items() if name in fields}


def row(identity: str, **fields: Any) -> dict[str, Any]:
    return {"id": identity, "text": f"bread {identity}", **fields}


@pytest.fixture
def years(tmp_path: Path) -> Path:
    return Path(build([row("a", year=2021), row("b", year=2**53 + 1)], tmp_path / "years.ranklet"))


def test_whole_numbers_stay_exact_while_all_are_whole(years: Path) -> None:
    update(years, [row("c", year=2**62 + 1)])
    assert {each: fields["year"] for each, fields in stored(years).items()} == {
        "a": 2021, "b": 2**53 + 1, "c": 2**62 + 1,
    }  # fmt: skip
    assert set(typed(stored(years), "year").values()) == {int}


def test_a_fraction_makes_fractions_of_all_and_they_stay(years: Path) -> None:
    update(years, [row("c", year=0.5)])
    found = stored(years)
    assert {each: fields["year"] for each, fields in found.items()} == {
        "a": 2021.0, "b": float(2**53), "c": 0.5,  # beyond 2⁵³ the nearest fraction
    }  # fmt: skip
    assert set(typed(found, "year").values()) == {float}
    update(years, delete=["c"])
    assert typed(stored(years), "year") == {"a": float, "b": float}
    assert load(years).metadata == {"year": "number"}
    hits = load(years).rank("bread", where={"year": 2021})  # whole numbers still find them
    assert [hit.id for hit in hits] == ["a"]


def test_a_text_makes_texts_of_all_and_they_stay(
    years: Path, caplog: pytest.LogCaptureFixture
) -> None:
    update(years, [row("c", year="long ago"), row("d", year=1.5)], delete=["b"])
    assert "'year' is kept as strings, because 1 of 3 values is no number" in caplog.text
    assert load(years).metadata == {"year": "string"}
    update(years, delete=["c", "d"])
    assert stored(years) == {"a": {"year": "2021"}}
    assert load(years).metadata == {"year": "string"}


def test_a_new_column_is_kept_until_no_document_has_it(years: Path) -> None:
    update(years, [row("c", colour="red", year=2024)])
    assert load(years).metadata == {"colour": "string", "year": "number"}
    found = stored(years)
    assert (found["a"], found["c"]) == ({"year": 2021}, {"colour": "red", "year": 2024})
    update(years, [row("d", year=2025)])
    assert stored(years)["c"] == {"colour": "red", "year": 2024}
    assert [hit.id for hit in load(years).rank("bread", where={"colour": "red"})] == ["c"]
    update(years, delete=["c"])
    assert load(years).metadata == {"year": "number"}
    with pytest.raises(InputError, match="unknown field 'colour'"):
        load(years).rank("bread", where={"colour": "red"})


def test_joined_bundles_have_the_columns_of_both(years: Path, tmp_path: Path) -> None:
    other = Path(build([row("c", year=0.5, colour="red")], tmp_path / "other.ranklet"))
    joined = Path(merge([years, other], tmp_path / "joined.ranklet"))
    assert load(joined).metadata == {"colour": "string", "year": "number"}
    assert set(typed(stored(joined), "year").values()) == {float}
