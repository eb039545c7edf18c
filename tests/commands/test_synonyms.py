from pathlib import Path

import pytest

from ranklet.commands import main
from ranklet.workflows.build import build

Capture = pytest.CaptureFixture[str]


def test_a_file_of_synonyms_is_checked_and_counts(tmp_path: Path, capsys: Capture) -> None:
    path, file = tmp_path / "b.ranklet", tmp_path / "words.txt"
    build(["my auto", "a dog"], path)
    assert main(["synonyms", str(path)]) == 0
    assert "no synonyms" in capsys.readouterr().out
    file.write_text("car, auto\n")
    assert main(["synonyms", str(path), str(file)]) == 0
    assert "2 entries have synonyms" in "".join(capsys.readouterr())
    assert main(["rank", str(path), "car"]) == 0
    assert "my auto" in capsys.readouterr().out
    assert main(["rank", str(path), "car", "--no-synonyms"]) == 0
    assert "no hits" in capsys.readouterr().out
    assert main(["synonyms", str(path)]) == 0
    assert capsys.readouterr().out == "car, auto\n"
    file.write_text("car\n")
    assert main(["synonyms", str(path), str(file)]) == 1
    assert "line 1" in capsys.readouterr().err
    path.with_name("b.ranklet.synonyms").write_text("car\n")
    assert main(["rank", str(path), "car"]) == 1
    assert "b.ranklet.synonyms" in capsys.readouterr().err
