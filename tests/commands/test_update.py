import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, fails, succeeds
from tests.updates import SPLIT, WHOLE, documents_of, first_records, indexed, seeded

from ranklet.commands import main
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.workflows.build import build

if TYPE_CHECKING:
    from tests.conftest import Built


@pytest.fixture
def bundle(built: "Built", tmp_path: Path) -> Path:
    return indexed(built.exported, first_records(seeded(0), 4), tmp_path / "b", WHOLE)


def ids(bundle: Path) -> list[str]:
    return [each.id for each in documents_of(bundle)]


def source(folder: Path, *records: dict[str, str]) -> Path:
    path = folder / "more.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return path


def test_documents_are_added_replaced_and_deleted(
    bundle: Path, tmp_path: Path, capsys: Capture
) -> None:
    more = source(tmp_path, {"id": "new", "text": "one"}, {"id": "d2", "text": "two"})
    printed = succeeds(capsys, "update", bundle, "--add", more, "--delete", "d0", "d3")
    counts = "1 added, 1 replaced, 2 deleted, 1 unchanged"
    columns = "more.jsonl: the text is 'text', there is no title, the id is 'id'"
    assert printed == f"{columns}\n{counts}: 3 documents → {bundle}\n"
    assert ids(bundle) == ["d1", "d2", "new"]


def test_ids_may_stand_in_a_file(bundle: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "ids").write_text("d1\n\nd2\n-nobody\n", "utf-8")
    arguments = ("update", bundle, "--delete-file", tmp_path / "ids", "-o", tmp_path / "c.zip")
    assert "no document '-nobody'" in fails(capsys, *arguments)
    printed = succeeds(capsys, *arguments, "--missing-ok")
    assert printed.startswith("0 added, 0 replaced, 2 deleted, 2 unchanged, 1 missing: 2 doc")
    assert ids(tmp_path / "c.zip") == ["d0", "d3"]
    assert len(ids(bundle)) == 4
    assert "exists" in fails(capsys, *arguments, "--missing-ok")
    succeeds(capsys, *arguments, "--missing-ok", "--force")


def test_options_say_how_documents_are_read_and_not_how_they_are_split(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    target = indexed(built.exported, first_records(seeded(0), 3), tmp_path / "b", SPLIT)
    more = source(tmp_path, {"id": "x", "text": "a cat", "body": "mouse one two three. " * 4})
    succeeds(capsys, "update", target, "--add", more, "--text-column", "body")
    texts = [each.text for each in documents_of(target) if each.id == "x"]
    assert len(texts) > 1
    assert texts[0].startswith("mouse")
    assert BundleFiles(target).manifest.splitting == (6, 2)
    split = ("--passage-words", "9", "--overlap-words", "2")
    assert "leave these options out" in fails(capsys, "update", target, "--add", more, *split)


def test_ids_to_delete_are_whole_lines(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": name, "text": "a bike"} for name in ("7", " 7", "8 ", "9\u2028", "9", "10")]
    bundle = tmp_path / "b.ranklet"
    build(rows, bundle, language="en", normaliser="none")
    (tmp_path / "ids").write_bytes(" 7\n\n8 \r\n9\u2028\n".encode())
    printed = succeeds(capsys, "update", bundle, "--delete-file", tmp_path / "ids")
    assert printed.startswith("0 added, 0 replaced, 3 deleted, 3 unchanged")
    (tmp_path / "ids").write_text("10")
    monkeypatch.setattr("ranklet.corpus.sources.paths.STANDARD_INPUT", tmp_path / "ids")
    succeeds(capsys, "update", bundle, "--delete-file", "-")
    assert sorted(hit.id for hit in load(bundle).rank("bike")) == ["7", "9"]
    assert main(["update", str(bundle), "--delete-file", "-", "--add", "-"]) == 1
