"""Collections of public sources are written with their splits; the sources are tiny stand-ins."""

from pathlib import Path
from unittest.mock import patch

import pytest

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection

public = pytest.importorskip("benchmarks.harness.public")

FILE = """<?xml version="1.0" encoding="UTF-8"?>
<Document id="{id}" source="NIH"><Focus>{focus}</Focus><QAPairs>
<QAPair pid="1"><Question qid="{id}-1">What is (are) {focus} ?</Question><Answer>It
 is {focus}.</Answer></QAPair>
<QAPair pid="2"><Question qid="{id}-2">Is {focus} rare ?</Question><Answer></Answer></QAPair>
</QAPairs></Document>"""


def test_medquad_is_split_by_focus(tmp_path: Path) -> None:
    clone = tmp_path / "clone" / "1_NIH"
    clone.mkdir(parents=True)
    for number in range(40):
        text = FILE.format(id=f"{number % 39:03}", focus=f"disease {number % 30}")
        (clone / f"{number:03}.xml").write_text(text)
    assert public.main(["--medquad", str(tmp_path / "clone"), "--data", str(tmp_path)]) == 0
    made = Collection(tmp_path / "medquad")
    documents = {each.id: (each.title, each.text) for each in made.documents()}
    assert len(documents) == 40
    assert documents["NIH_003-1"] == ("disease 3", "It is disease 3.")
    assert documents["NIH_000-1.2"] == (
        "disease 9",
        "It is disease 9.",
    )  # of an id that comes again
    found = {split: {each.text: each.id for each in made.queries(split)} for split in made.splits()}
    assert sum(map(len, found.values())) == 30
    assert len(found["train"]) > len(found["dev"]) + len(found["test"])
    (split,) = [split for split, each in found.items() if "What is disease 3?" in each]
    relevant = made.qrels(split)[found[split]["What is disease 3?"]]
    assert relevant == {"NIH_003-1": 1, "NIH_033-1": 1}


def test_some_queries_of_train_become_dev(tmp_path: Path) -> None:
    queries = [Query(str(number), f"query {number}") for number in range(200)]
    qrels = {each.id: {"d": 1} for each in queries}
    splits = {"train": (queries, qrels), "test": (queries[:3], {"0": {"d": 1}})}

    def written(folder: Path, names: dict[str, str]) -> Collection:
        assert names == {"train": "beir/scifact/train", "test": "beir/scifact/test"}
        return write_collection(folder, [Document("d", "", "text")], splits)

    with patch.object(public, "write_dataset", written):
        assert public.main(["scifact", "--data", str(tmp_path)]) == 0
    made = Collection(tmp_path / "scifact")
    sizes = {split: len(list(made.queries(split))) for split in made.splits()}
    assert sizes["train"] + sizes["dev"] == 200
    assert 10 < sizes["dev"] < 40
    assert sizes["test"] == 3
    assert public.main(["scifact", "--data", str(tmp_path)]) == 0  # it stays as it is
