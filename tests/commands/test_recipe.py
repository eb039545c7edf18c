from pathlib import Path

import pytest

from ranklet.commands import main
from ranklet.runtime import load

Capture = pytest.CaptureFixture[str]

RECIPE = """
source = "texts.csv"
output = "search.ranklet"
force = true
no-titles = true
synonyms = "words.txt"
title-column = "title"

[field]
author = 2
kind = 1

[boost.stars]
log = true
weight = 0.5

[types]
stars = "number"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "texts.csv").write_text(
        "title,text,author,kind,stars\nA,Knead it,Bob,x,3\n,Eat,Al,y,4\n"
    )
    (folder / "words.txt").write_text("eat, devour\n")
    (folder / "ranklet.toml").write_text(RECIPE)
    return folder


def test_a_build_alone_repeats_a_recipe(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert main(["build"]) == 0
    bundle = load(folder / "search.ranklet")
    assert not bundle.titles
    assert bundle.metadata["stars"] == "number"
    assert bundle.files.settings("bm25").fields == {"author": 2.0, "kind": 1.0}
    assert "stars" in str(bundle.manifest.pipeline(None))
    assert [hit.text for hit in bundle.rank("devour")] == ["Eat"]
    assert "2 entries have synonyms" in "".join(capsys.readouterr())


def test_flags_count_in_place_of_keys(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe, target = ["--recipe", "project/ranklet.toml"], tmp_path / "other.ranklet"
    assert main(["build", *recipe, "-o", str(target), "--field", "kind"]) == 0
    assert load(target).files.settings("bm25").fields == {"kind": 1.0}
    (tmp_path / "more.csv").write_text("title,text,author,kind,stars\nB,Two,Bob,x,3\n")
    assert main(["build", "more.csv", *recipe, f"--output={target}"]) == 0
    assert [hit.text for hit in load(target).rank("two")] == ["Two"]
    assert not (folder / "search.ranklet").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('sorce = "a"', "no key 'sorce'; did you mean source?"),
        ("passage_words = 3", "did you mean passage-words?"),
        ("passage-words = true", "passage-words is True, which the flag --passage-words"),
        ("force = 1", "force is 1"),
        ('source = "texts.csv"', "required: -o/--output"),
        ('output = "x"', "SOURCE is missing"),
        ("source = ", "is not TOML"),
        ("zork = {}", "there is no key 'zork' ("),
    ],
)
def test_a_recipe_that_cannot_be_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, content: str, message: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "ranklet.toml").write_text(content)
    with pytest.raises(SystemExit) as raised:
        main(["build"])
    assert raised.value.code == 2
    assert message in capsys.readouterr().err


def test_without_a_recipe_a_source_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["build"])
    assert "SOURCE is missing, and there is no ranklet.toml here" in capsys.readouterr().err
