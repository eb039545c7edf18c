"""An analyst's table has bad cells: what a build says, what a filter says, and how it is mended."""

import json
from pathlib import Path
from typing import Any

import pytest

from ranklet.commands import main
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.updating.merge import merge
from ranklet.corpus.updating.update import update
from ranklet.runtime import InputError, load
from ranklet.workflows.build import build

TYPES = {"price": "number", "date": "date", "tags": "list", "code": "string"}


def table(path: Path, first: int, *prices: str, date: str = "2024-01-02") -> Path:
    rows = [
        f'p{n},a dog {n},{price},{date},"x, y{n}",2024-01-0{n % 9 + 1}'
        for n, price in enumerate(prices, start=first)
    ]
    path.write_text("\n".join(["name,description,price,date,tags,code", *rows, ""]), "utf-8")
    return path


def heard(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    return said.out + said.err


def metadata(bundle: object, name: str) -> dict[str, Any]:
    return {hit.id: hit.metadata.get(name) for hit in load(str(bundle)).rank("dog", k=100)}


def test_a_filter_says_which_cells_are_no_numbers_and_what_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = table(tmp_path / "p.csv", 1, *"1234", "N/A", "dear")
    target = str(tmp_path / "p.ranklet")
    assert main(["build", str(path), "-o", target, "--id-column", "name"]) == 0
    assert "the title is 'name', the id is 'name'" in heard(capsys)
    why = f"1 of 5 values is no number, such as {path}:7 ('dear'); build with --types price=number"
    assert f"'price' is kept as strings, because {why}" in caplog.text
    assert main(["rank", target, "dog", "--where", '{"price": {"<": 3}}']) == 1
    assert f"cannot be compared with the number 3, because {why}" in heard(capsys)
    update(target, delete=["p1"])  # what is known of the column stays
    with pytest.raises(InputError, match="build with --types price=number"):
        load(target).rank("dog", where={"price": 3})
    typed = "price=number,date=date,tags=list"
    again = ["build", str(path), "-o", target, "--force", "--id-column", "name", "--types", typed]
    assert main(again) == 0
    assert f"'price': 1 of 5 values is no number (taken as missing): {path}:7" in caplog.text
    where = {"price": {"<": 3}, "tags": {"has": "x"}, "date": {">": "2024-01-01"}}
    assert {hit.id for hit in load(target).rank("dog", where=where)} == {"p1", "p2"}


def test_an_update_reads_columns_as_the_build_did(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ids = SourceOptions(id_column="name")
    bundle = build(
        table(tmp_path / "a.csv", 1, "1", "€ 2"), tmp_path / "b", source=ids, types=TYPES
    )
    new = table(tmp_path / "b.csv", 3, "€ 3000", "?", date="soon")
    update(bundle, new, options=ids)
    assert "b.csv:3 ('?')" in caplog.text
    assert load(str(bundle)).metadata == {
        "code": "string", "date": "date", "price": "number", "tags": "list"
    }  # fmt: skip
    assert set(metadata(bundle, "price").values()) == {1, 2, 3000, None}
    whole = tmp_path / "whole.csv"
    lines = [(tmp_path / name).read_text("utf-8").splitlines() for name in ("a.csv", "b.csv")]
    whole.write_text("\n".join([*lines[0], *lines[1][1:], ""]), "utf-8")
    once = build(whole, tmp_path / "once", source=ids, types=TYPES)
    manifests = [json.loads((Path(each) / "manifest.json").read_bytes()) for each in (bundle, once)]
    assert manifests[0]["files"] == manifests[1]["files"]
    assert manifests[0]["declared"] == manifests[1]["declared"] == TYPES
    with pytest.raises(InputError, match="'price' holds numbers; build it again to declare it"):
        update(bundle, new, options=ids, types={"price": "string"})


def test_joined_bundles_must_agree_on_types(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": "dog", "day": "2024-01-02"}]
    first = build(rows, tmp_path / "1", types={"day": "string"})
    second = build([{**rows[0], "id": "2"}], tmp_path / "2", types={"day": "date"})
    with pytest.raises(InputError, match="declare 'day' as string and as date; build both alike"):
        merge([first, second], tmp_path / "12")
    third = build([{**rows[0], "id": "3"}], tmp_path / "3")
    joined = merge([first, third], tmp_path / "13")
    assert load(str(joined)).manifest.declared == {"day": "string"}
