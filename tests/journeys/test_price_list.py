"""Price lists as shops export them: a cell is compared as what it is, and an update is undone."""

import json
from pathlib import Path

import pytest

from ranklet.corpus.updating.update import update
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime import CollectionError
from ranklet.workflows.build import build

ROWS = """id,text,price,sold,day
1,a dog,1.50,TRUE,2024-01-02
2,a cat,1.55,false,2024-01-03
3,a cow,2,TRUE,
"""


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_same_file_replaces_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"table.{kind}"
    text = ROWS if kind == "csv" else "".join(
        json.dumps({"id": str(n), "text": "a dog", "price": price, "sold": n > 1}) + "\n"
        for n, price in enumerate((1.5, 2, 3.0))
    )  # fmt: skip
    path.write_text(text, "utf-8")
    bundle = build(path, tmp_path / "b")
    report = update(bundle, path).manifest.provenance["update"]
    assert (report["replaced"], report["unchanged"]) == (0, 3)
    live = WritableBundle(tmp_path / "b").add(path)
    assert (live.counts.replaced, live.counts.unchanged) == (0, 3)


def test_a_changed_cell_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(ROWS, "utf-8")
    bundle = build(path, tmp_path / "b")
    path.write_text(ROWS.replace("1.50", "1.51").replace("TRUE,\n", "N/A,\n"), "utf-8")
    assert update(bundle, path).manifest.provenance["update"]["replaced"] == 2


def test_a_number_in_quotes_is_told_as_one(tmp_path: Path) -> None:
    build([{"id": "1", "text": "a", "preis": 1.5}], tmp_path / "b")
    with pytest.raises(CollectionError, match=r"give 19\.9$"):
        WritableBundle(tmp_path / "b").add([{"id": "2", "text": "b", "preis": "19.90"}])
