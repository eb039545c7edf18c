"""The benchmark of weak supervision, end to end on a tiny collection: it runs unattended."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.harness.place import Place
from benchmarks.quality import weak_supervision

from ranklet.export.options import ExportOptions
from ranklet.training.data.collection import Document, write_collection
from ranklet.training.data.splits import read_split

if TYPE_CHECKING:
    from tests.kinds import TinyRankers


@pytest.mark.slow
def test_all_systems_are_measured_on_queries_that_nobody_learned_from(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tiny.data.collection
    documents = [
        Document(
            each.id,
            f"{each.title} {n}",
            f"{each.text} and so on and on. Here is another sentence of it.",
        )
        for n, each in enumerate(data.documents())
    ]
    splits = {name: (data.queries(name), data.qrels(name)) for name in data.splits()}
    write_collection(tmp_path / "data" / "medquad", documents, splits)
    monkeypatch.setattr(
        weak_supervision, "TRIED",
        [
            weak_supervision.Tried("medquad", "dev", "numbers"),
            weak_supervision.Tried("medquad", "dev", "numbers", ranked=False),
        ],
    )  # fmt: skip
    options = replace(
        weak_supervision.OPTIONS, steps=4, batch=8, max_document_tokens=32, device="cpu"
    )
    for name, value in {
        "OPTIONS": options, "STEPS": 4, "QUERIES": 12, "DOCUMENTS": 40, "BACKBONE": tiny.data.bert,
        "ExportOptions": lambda: ExportOptions(variants=("fp32",), max_ndcg_loss=1.0),
    }.items():  # fmt: skip
        monkeypatch.setattr(weak_supervision, name, value)
    place = Place(tmp_path / "data", tmp_path / "work")
    text = weak_supervision.run(place)
    rows = [line for line in text.splitlines() if line.startswith("| medquad dev")]
    assert len(rows) == 10
    for name in weak_supervision.NAMES.values():
        assert sum(f"| {name} |" in row for row in rows) == 2
    assert "titles are numbers. Made of it: titles as queries: " in text

    tried = weak_supervision.TRIED[0]
    part = weak_supervision.part(place, tried)
    queries = read_split(place.collection("medquad"), "dev", limit=12)
    ids = {each.id for each in part.documents()}
    assert {name for query in queries for name in query.relevant} <= ids
    assert len(ids) == 40 < len(documents)
    assert part.splits() == ("train",)

    # What is kept is not made again.
    monkeypatch.setattr("ranklet.training.rankers.dense.training.train", None)
    assert weak_supervision.run(place) == text
