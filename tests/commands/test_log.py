"""The versions of a bundle are listed, ranked and brought back by commands."""

import json
from pathlib import Path

import pytest

import ranklet
from ranklet.commands import main


def test_a_version_is_listed_ranked_and_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(ranklet.build([{"id": "a", "text": "A zebra."}], tmp_path / "b.ranklet"))
    (tmp_path / "new.jsonl").write_text('{"id": "b", "text": "A young zebra."}')

    def run(*arguments: str, status: int = 0) -> str:
        capsys.readouterr()
        assert main([arguments[0], path, *arguments[1:]]) == status
        out, err = capsys.readouterr()
        return out + err

    def found(*options: str) -> list[str]:
        answer = json.loads(run("rank", "zebra", "--json", *options))
        return sorted(hit["id"] for hit in answer["hits"])

    run("update", "--live", "--add", str(tmp_path / "new.jsonl"))
    assert found() == ["a", "b"]
    assert found("--at", "0") == ["a"]
    lines = run("log").splitlines()
    assert lines[0].endswith("2 documents: 1 added")
    assert lines[1].endswith("1 document: built")
    assert "version 0 with 1 document" in run("restore", "0")
    assert found() == ["a"]
    newest = json.loads(run("log", "--json").splitlines()[0])
    assert (newest["version"], newest["restored"]) == (2, 0)
    assert run("log").splitlines()[0].endswith("1 document: version 0 restored")
    assert "there are 0 to 2" in run("rank", "zebra", "--at", "7", status=1)
    run("compact", "--keep", "1")
    assert found("--at", "1") == ["a", "b"]
    assert "`ranklet log`" in run("restore", "0", status=1)
