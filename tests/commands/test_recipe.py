import argparse
from contextlib import suppress
from pathlib import Path

import pytest

from ranklet.commands import main
from ranklet.commands.build import add_arguments
from ranklet.commands.recipe import ELSEWHERE, PATHS
from ranklet.runtime import load

HARMLESS = """
boost document-prompt encoding field force format fusion html id-column impacts label language
metadata no-header no-html no-titles normaliser overlap-words passage-words queries query-prompt
sides similarity skip-bad stored table-minutes text-column title-boost title-column types variants
vector-model vocabulary weights whole-pages
"""
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
        said = capsys.readouterr().out
        assert said.startswith("ranklet.toml says: ranklet build texts.csv --output=search.ranklet")
    bundle = load(folder / "search.ranklet")
    assert not bundle.titles
    assert bundle.metadata["stars"] == "number"
    assert bundle.files.settings("bm25").fields == {"author": 2.0, "kind": 1.0}
    assert "stars" in str(bundle.manifest.pipeline(None))
    assert [hit.text for hit in bundle.rank("devour")] == ["Eat"]
    assert "2 entries have synonyms" in said


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
        ('sorce = "a"', "no key 'sorce' (did you mean 'source'?"),
        ("passage_words = 3", "did you mean 'passage-words'?"),
        ("passage-words = true", "passage-words is True, which the flag --passage-words"),
        ("force = 1", "force is 1"),
        ('source = "texts.csv"', "required: -o/--output"),
        ('output = "x"', "SOURCE is missing"),
        ("source = ", "is not TOML"),
        ("zork = {}", "there is no key 'zork' ("),
        # What a recipe may not say that nobody has named.
        ('output = "../x"', 'ranklet.toml says output = "../x", but was only found here'),
        ('output = "link/x"', 'says output = "link/x"'),
        ('output = "b"\nsource = "linked.csv"', 'says source = "linked.csv"'),
        ('source = "sqlite:////a.db?query=SELECT 1"', 'says source = "sqlite:////a.db?query='),
        ('source = "-"', 'says source = "-"'),
        ('texts = [".", "/etc"]', 'says texts = [".", "/etc"]'),
        ('forms = "../f"\nsynonyms = "../s"', 'says forms = "../f", synonyms = "../s"'),
        ('model = ["minilm", ".."]', 'says model = ["minilm", ".."]'),
        ('download = true\nmodel = "x"', "says download = true"),
        ('engine = "ray"\naddress = "h:1"', 'says engine = "ray", address = "h:1"'),
        # Beside this bundle its synonyms would be written through a link.
        ('output = "linked"\nsynonyms = "words.txt"', 'says output = "linked"'),
        # Values that look like flags.
        ('source = "--download"\noutput = "b"', "--download does not exist"),
        ('output = "b"\ntexts = ["--download"]', "SOURCE is missing"),
        ('output = "b"\nlabel = "--download"', "SOURCE is missing"),
    ],
)
def test_a_recipe_that_cannot_be_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, content: str, message: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "ranklet.toml").write_text(content)
    (folder / "link").symlink_to(folder.parent)
    (folder / "linked.csv").symlink_to("/etc/hostname")
    (folder / "linked.synonyms").symlink_to(folder.parent / "notes")
    with suppress(SystemExit):  # from the parser
        assert main(["build"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_only_what_a_recipe_has_built_is_replaced_by_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(folder)
    assert main(["build", "texts.csv", "-o", "search.ranklet"]) == 0
    with pytest.raises(SystemExit):
        main(["build"])
    assert "'search.ranklet' was not built by ranklet.toml" in capsys.readouterr().err
    assert main(["build", "--recipe", "ranklet.toml"]) == 0
    assert main(["build"]) == 0
    (folder / "search.ranklet").rename(folder / "other.ranklet")
    with pytest.raises(SystemExit):
        main(["build", "-o", "other.ranklet"])
    assert "'other.ranklet' was not built by ranklet.toml" in capsys.readouterr().err
    assert main(["build", "-o", "other.ranklet", "--force"]) == 0


def test_a_folder_like_those_of_the_hub_reads_nothing_beside_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "snapshots").mkdir()
    monkeypatch.chdir(folder.rename(tmp_path / "snapshots" / "a"))
    Path("ranklet.toml").write_text('source = "."\noutput = "b"')
    with pytest.raises(SystemExit):
        main(["build"])
    assert 'says source = "."' in capsys.readouterr().err


def test_a_named_recipe_may_name_any_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folder)
    (folder / "ranklet.toml").write_text(
        'source = "texts.csv"\noutput = "../x"\ntitle-column = "-"'
    )
    assert main(["build", "--recipe", "ranklet.toml"]) == 0
    assert (tmp_path / "x").is_dir()


def test_each_flag_is_known_to_be_harmless_in_a_recipe_or_not() -> None:
    """A new one that names a path, or sends texts away, belongs to `PATHS` or `ELSEWHERE`."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    flags = {each.removeprefix("--") for each in parser._option_string_actions if each[1] == "-"}
    assert flags - {"help", "recipe", *PATHS, *ELSEWHERE} == set(HARMLESS.split())


def test_without_a_recipe_a_source_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["build"])
    assert "SOURCE is missing, and there is no ranklet.toml here" in capsys.readouterr().err
