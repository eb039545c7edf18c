"""`ranklet train KIND SOURCE --weak …`: any texts, no judgement, and nothing that is left over."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from tests.commands.running import Capture, fails, falls_short, succeeds

from ranklet.corpus.collections.collection import Collection
from ranklet.training.checkpoint import read_checkpoint


@pytest.fixture
def table(collection: Collection, tmp_path: Path) -> Path:
    """Return a table of the household documents under other names of columns."""
    path = tmp_path / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "subject", "body"])
        writer.writerows([f"{each.id} x", each.title, each.text] for each in collection.documents()
                         if each.text)  # fmt: skip
    return path


@pytest.mark.slow
@pytest.mark.parametrize("weak", ["titles", "sentences"])
@pytest.mark.parametrize("kind", ["bm25", "model1"])
def test_a_table_is_enough(
    kind: str, weak: str, table: Path, tmp_path: Path, capsys: Capture
) -> None:
    start = ("train", kind, table, "-o", tmp_path / "out", "--weak", weak)
    if kind == "bm25":
        out = succeeds(capsys, *start)
    else:  # so few queries teach it nothing
        out, _ = falls_short(capsys, *start)
    assert "the title is 'subject'" in out
    assert f"{weak} as queries: " in out
    held_out = "" if kind == "bm25" else "held-out "
    assert f" on {held_out}{weak}, not judged queries → {tmp_path / 'out'}" in out
    training = read_checkpoint(tmp_path / "out").training
    assert training["weak"] == weak
    assert training["weak_queries"] >= 20
    assert {path.name for path in tmp_path.iterdir()} == {"texts.csv", "out"}


@pytest.mark.slow
def test_judgements_that_a_collection_has_are_not_read(
    collection: Collection, tmp_path: Path, capsys: Capture
) -> None:
    """With damaged judgements and queries, and without any, the same is learned."""
    learned = []
    for damaged in (False, True):
        copy = tmp_path / f"copy-{damaged}"
        shutil.copytree(collection.path, copy)
        for path in copy.iterdir():
            if not path.name.startswith("corpus"):
                path.write_text("damaged") if damaged else path.unlink()
        out = tmp_path / f"out-{damaged}"
        succeeds(capsys, "train", "bm25", copy, "-o", out, "--weak", "titles")
        learned.append(json.loads((out / "ranklet.json").read_text()))
        learned[-1]["training"].pop("seconds")
    assert learned[0] == learned[1]


def test_options_that_would_have_no_effect_are_refused(
    collection: Collection, tmp_path: Path, capsys: Capture
) -> None:
    start = ("train", "model1", collection.path, "-o", tmp_path / "out")
    for given, message in {
        ("--weak", "titles", "--split", "train"): "--split names judged queries",
        ("--weak", "titles", "--tune", "test"): "--tune names judged queries",
        ("--weak", "titles", "--weak-queries", "19"): "at least 20",
        ("--weak-queries", "9"): "--weak-queries needs --weak",
        ("--title-column", "title"): "--title-column needs --weak",
        ("--no-header",): "--no-header needs --weak",
    }.items():
        assert message in fails(capsys, *start, *given)
    assert list(tmp_path.iterdir()) == []


def test_texts_without_titles_are_answered_with_what_to_type(
    table: Path, tmp_path: Path, capsys: Capture
) -> None:
    start = ("train", "bm25", table, "-o", tmp_path / "out", "--weak", "titles")
    assert fails(capsys, *start, "--title-column", "-").endswith(
        "no document of texts.csv has a title, so --weak titles has no queries; type --weak "
        "sentences, or name the column of the titles with --title-column\n"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"texts.csv"}


def test_an_interrupted_training_goes_on_only_with_the_same_queries(
    table: Path, collection: Collection, tmp_path: Path, capsys: Capture
) -> None:
    """The state of a training is in out.run, and its queries are in out.weak."""
    out = tmp_path / "out"
    (tmp_path / "out.run").mkdir()
    start = ("train", "model1", table, "-o", out, "--weak", "sentences")
    assert "learned from other texts" in fails(capsys, *start)
    shutil.copytree(collection.path, tmp_path / "out.weak")
    assert "holds other files: 'qrels.test.txt', 'queries.test.jsonl'" in fails(capsys, *start)
    for name in ("qrels.test.txt", "queries.test.jsonl"):
        (tmp_path / "out.weak" / name).unlink()
    assert "learned from other texts" in fails(capsys, *start)
    judged = ("train", "model1", collection.path, "-o", out)
    assert "pass --weak and --resume" in fails(capsys, *judged)
    assert Collection(tmp_path / "out.weak").splits() == ("train",)
