"""Columns of metadata: what comes back, and what happens if they are damaged."""

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.damage import change_manifest, replace_file
from tests.metadata_rows import FIELDS

from ranklet.runtime import Bundle, BundleError
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.metadata.columns import (
    Metadata,
    count_days,
    count_microseconds,
    day_at,
    read_date,
)
from ranklet.runtime.rankers.verification import verify

if TYPE_CHECKING:
    from tests.conftest import Described


PLACE = {name: place for place, name in enumerate(sorted(FIELDS))}


def test_every_document_has_its_own_values_again(described: "Described") -> None:
    metadata = Metadata(BundleFiles(described.path))
    assert dict(metadata.types) == {
        "../price €": "number", "category": "string", "due": "date", "open": "flag",
        "seen": "datetime", "tags": "list", "year": "number",
    }  # fmt: skip
    assert list(metadata) == sorted(FIELDS)
    for number, row in enumerate(described.rows):
        held = {name: row[name] for name in sorted(FIELDS) if name in row}
        assert metadata.of(number) == held
        assert [type(each) for each in metadata.of(number).values()] == [
            type(each) for each in held.values()
        ]


def test_hits_have_metadata_and_json_has_dates_as_strings(described: "Described") -> None:
    by_id = {row["id"]: row for row in described.rows}
    for hit in described.bundle.rank("bread water", k=80):
        row = by_id[hit.id]
        assert hit.metadata == {name: row[name] for name in FIELDS if name in row}
        assert hash(hit) == hash(hit)
        shown = json.loads(json.dumps(hit.to_dict())).get("metadata", {})
        assert shown == {
            name: value.isoformat() if isinstance(value, date | datetime) else value
            for name, value in hit.metadata.items()
        }


def change(folder: Path, place: str, damage: Callable[[Path], object]) -> None:
    """Change the files of a path, and put their size and digest into the manifest."""
    for path in filter(Path.is_file, folder.rglob("*")):
        if (name := path.relative_to(folder).as_posix()).startswith(place):
            damage(path)
            replace_file(folder, name, path.read_bytes())


def put(value: float, at: int | slice = slice(None)) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        held = np.load(path)
        held[at] = value
        np.save(path, held)

    return damage


def cast(dtype: str) -> Callable[[Path], None]:
    return lambda path: np.save(path, np.load(path).astype(dtype))


def shorter(path: Path) -> None:
    np.save(path, np.load(path)[:-1])


HOSTILE: dict[str, tuple[str, str, Callable[[Path], object], str]] = {
    "code past the strings": ("category", "codes.npy", put(200), "past the 5|not 0"),
    "code of a list past the strings": ("tags", "codes.npy", put(77), "past the 5 strings"),
    "codes of another type": ("category", "codes.npy", cast("<i8"), "requires"),
    "short codes": ("category", "codes.npy", shorter, "shape"),
    "no UTF-8": ("category", "distinct.npy", put(0xFF), "not in order|not UTF-8"),
    "strings that do not ascend": ("tags", "distinct.npy", put(65), "not in order"),
    "offsets of strings that decrease": ("category", "distinct.offsets.npy", put(3, 1), "decrease"),
    "offsets of lists that decrease": ("tags", "offsets.npy", put(50, 1), "decrease"),
    "offsets past the codes": ("tags", "offsets.npy", put(10_000, -1), "shape"),
    "a number that is not finite": ("../price €", "values.npy", put(np.inf, 3), "not finite|not 0"),
    "numbers of another type": ("year", "values.npy", cast("<f4"), "requires"),
    "a flag of 2": ("open", "values.npy", put(2), "neither 0 nor 1|not 0"),
    "a day after the year 9999": ("due", "values.npy", put(2**31 - 1), "not 0|damaged"),
    "an instant before the year 1": ("seen", "values.npy", put(-(2**63)), "not 0|damaged"),
    "a missing value that is not 0": ("year", "values.npy", put(7), "a missing value is not 0"),
    "missing of 2": ("year", "missing.npy", put(2, 0), "neither 0 nor 1"),
    "short missing": ("year", "missing.npy", shorter, "shape"),
    "a missing list that is not empty": ("tags", "missing.npy", put(1), "not empty"),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_columns_are_found_and_do_no_harm(
    described: "Described", tmp_path: Path, attack: str
) -> None:
    name, file, damage, message = HOSTILE[attack]
    copy = shutil.copytree(described.path, tmp_path / "copy")
    change(copy, f"metadata/{PLACE[name]}/{file}", damage)
    with pytest.raises(BundleError, match=message):
        list(verify(copy))
    bundle = Bundle(copy)
    operand: Any = {"tags": {"has all": ["x", "y"]}}.get(name, {"missing": False})
    searches: list[dict[str, Any]] = [{"k": 80}, {"where": {name: operand}}]
    for options in searches:
        with suppress(BundleError):
            assert len(bundle.rank("bread", **options)) <= 80


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"year": "integer"}, "metadata.year is 'integer'; it must be one of string, number"),
        ({"year": ["string"]}, "metadata.year is .*; it must be one of"),
        ([], r"metadata is \[\]; it must be an object"),
        (
            {str(number): "flag" for number in range(300)},
            "metadata is .*; it must be an object with at most 256 fields",
        ),
    ],
)
def test_hostile_types_are_refused(
    described: "Described", tmp_path: Path, types: object, message: str
) -> None:
    copy = shutil.copytree(described.path, tmp_path / "copy")
    change_manifest(copy, lambda manifest: manifest.update(metadata=types))
    with pytest.raises(BundleError, match=message):
        Bundle(copy)


@given(st.dates())
def test_a_day_comes_back(day: date) -> None:
    assert day_at(count_days(day)) == day
    assert read_date(day.isoformat()) == day
    assert count_microseconds(day) == count_days(day) * 86_400_000_000


def test_time_zones_are_brought_to_utc_and_none_means_utc() -> None:
    noon = datetime(2024, 5, 31, 12, tzinfo=UTC)
    for text in ("2024-05-31T14:00+02:00", "2024-05-31T12:00", "2024-05-31 07:00:00.000-0500"):
        assert read_date(text) == noon
    assert count_microseconds(noon) - count_microseconds(noon - timedelta(0, 1)) == 1_000_000


@pytest.mark.parametrize(
    "text",
    ["", "2024", "2024-05", "20240531", "2024-W22-5", "2024-02-30", "2024-05-31T25:00",
     "٢٠٢٤-٠٥-٣١", "2024-05-31T12", "0001-01-01T00:00+01:00", " 2024-05-31"],
)  # fmt: skip
def test_other_texts_are_no_dates(text: str) -> None:
    assert read_date(text) is None
