"""The command `ranklet build`; tests/journeys/test_newcomer.py has the whole way with it."""

from pathlib import Path

import pytest
from tests.commands.running import Capture, fails, succeeds
from tests.models import transformer_folder

from ranklet.commands import main
from ranklet.runtime import load

TABLE = "Headline,Body\nCats,Cats sleep all day.\nDogs,Dogs bark at night.\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "animals.csv"
    path.write_text(TABLE)
    return path


def test_a_table_becomes_a_bundle_and_the_guess_is_printed(
    table: Path, tmp_path: Path, capsys: Capture
) -> None:
    output = tmp_path / "search.ranklet"
    printed = succeeds(capsys, "build", table, "-o", output)
    assert "2 documents" in printed
    assert "ranklet rank" in printed
    assert load(output).rank("barking")[0].title == "Dogs"
    assert "exists" in fails(capsys, "build", table, "-o", output)
    succeeds(capsys, "build", table, "-o", output, "--force", "--text-column", "Headline")
    assert load(output).rank("dogs")[0].text == "Dogs"


def test_faults_are_counted_and_can_be_left_out(
    table: Path, tmp_path: Path, capsys: Capture
) -> None:
    table.write_text(TABLE + "Fish\n")
    output = tmp_path / "search.ranklet"
    assert main(["build", str(table), "-o", str(output)]) == 1
    message = capsys.readouterr().err
    assert "1 of 3 documents" in message
    assert "animals.csv:4" in message
    assert "--skip-bad" in message
    assert not output.exists()
    assert "2 documents" in succeeds(capsys, "build", table, "-o", output, "--skip-bad")


@pytest.mark.parametrize(
    "given", [("--stored", "int8"), ("--variants", "fp32"), ("--download",), ("--fusion", "ranks")]
)
def test_what_is_for_models_needs_one(
    table: Path, tmp_path: Path, capsys: Capture, given: tuple[str, ...]
) -> None:
    message = fails(capsys, "build", table, "-o", tmp_path / "b", *given)
    assert f"{given[0].strip('-')} has no effect without" in message
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
def test_vectors_of_a_model_are_stored_as_the_option_says(
    table: Path, tmp_path: Path, capsys: Capture
) -> None:
    encoder = transformer_folder(tmp_path / "encoder")
    arguments = ["build", table, "-o", tmp_path / "b", "--model", encoder, "--variants", "fp32"]
    assert main([*map(str, arguments), "--stored", "int4"]) == 1
    message = capsys.readouterr().err  # with lines of progress before it
    assert "stored is 'int4'; allowed are float32, float16, int8" in message.splitlines()[-1]
    assert not (tmp_path / "b").exists()
    succeeds(capsys, *arguments, "--stored", "int8")
    assert "stored=int8" in succeeds(capsys, "inspect", tmp_path / "b")


@pytest.mark.slow
def test_a_bundle_in_another_language_says_so(table: Path, tmp_path: Path, capsys: Capture) -> None:
    morning = "Les journaux du matin racontent l'histoire de la capitale."
    table.write_text(f"Body\n{morning}\nLes chevaux dorment dans les prés près de la rivière.\n")
    output = tmp_path / "b.ranklet"
    succeeds(capsys, "build", table, "-o", output, "--language", "French")
    assert load(output).rank("le journal")[0].text == morning
    assert "languages: fr (words by stem)" in succeeds(capsys, "inspect", output)
    indexed = tmp_path / "indexed.ranklet"
    options = ("--language", "auto", "--normaliser", "none")
    succeeds(capsys, "index", output, table, "-o", indexed, *options)
    assert "languages: fr (words by none)" in succeeds(capsys, "inspect", indexed)


def test_an_unknown_language_is_refused_with_close_ones(
    table: Path, tmp_path: Path, capsys: Capture
) -> None:
    error = fails(capsys, "build", table, "-o", tmp_path / "b", "--language", "germen")
    assert "did you mean 'de (German)'" in error


def test_other_columns_are_kept_shown_and_chosen(tmp_path: Path, capsys: Capture) -> None:
    path, output = tmp_path / "a.csv", tmp_path / "search.ranklet"
    path.write_text("id,text,year,kind\n1,Cats sleep.,2020,pet\n2,Dogs bark at cats.,,\n")
    printed = succeeds(capsys, "build", path, "-o", output)
    assert "metadata: kind (string), year (number)\n" in printed
    assert "metadata: kind (string), year (number)\n" in succeeds(capsys, "inspect", output)
    assert "metadata\n" in succeeds(capsys, "verify", output)
    assert load(output).rank("cats", where={"year": 2020})[0].metadata == {
        "kind": "pet",
        "year": 2020,
    }
    succeeds(capsys, "build", path, "-o", output, "--force", "--metadata", "kind")
    assert dict(load(output).metadata) == {"kind": "string"}
    assert "metadata" not in succeeds(
        capsys, "build", path, "-o", output, "--force", "--metadata", "none"
    )
    assert "no column 'kin' (--metadata)" in fails(
        capsys, "build", path, "-o", output, "--force", "--metadata", "kin"
    )
    assert dict(load(output).metadata) == {}  # nothing was written
