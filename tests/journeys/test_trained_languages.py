"""Trainings in other languages than English, from judgements to a bundle that is searched."""

from pathlib import Path

import pytest
from tests.commands.running import Capture, fails, succeeds

from ranklet.commands import main
from ranklet.commands.train import FELL_SHORT
from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime import InputError, load
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.verification import verify
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.rankers.bm25.options import Options as BM25Options
from ranklet.training.rankers.model1.options import Options as Model1Options

GERMAN = {
    "haus": "Die Häuser am See wurden verkauft.",
    "brot": "Der Bäcker knetet den Teig für die Brote.",
    "rad": "Die Reifen der Räder waren geflickt.",
    "hund": "Viele Hunde bellten in der Nacht.",
    "buch": "Die Bücher standen in den Regalen.",
}
QUERIES = {"haus": "Haus", "brot": "Brot", "rad": "Rad", "hund": "Hund", "buch": "Buch"}


def collection(place: Path, texts: dict[str, str]) -> Collection:
    """Return a collection in which each query of `QUERIES` finds a document in singular."""
    splits = {
        split: (
            [Query(f"{split}-{each}", text) for each, text in QUERIES.items()],
            {f"{split}-{each}": {each: 1} for each in QUERIES},
        )
        for split in ("train", "dev")
    }
    documents = [Document(each, "", text) for each, text in texts.items()]
    return write_collection(place, documents, splits)


def best(path: Path, query: str, pipeline: str | None = None) -> list[str]:
    return [hit.id for hit in load(path).rank(query, k=1, pipeline=pipeline)]


@pytest.mark.slow
def test_a_german_training_makes_a_german_bundle(tmp_path: Path, capsys: Capture) -> None:
    german = collection(tmp_path / "german", GERMAN).path
    tuned, table = tmp_path / "bm25", tmp_path / "model1"
    succeeds(capsys, "train", "bm25", german, "-o", tuned, "--language", "German")
    trained = read_checkpoint(tuned)
    assert (trained.languages, trained.normaliser) == (("de",), "stem")
    assert trained.words == TextOptions(language="de", normaliser="stem")
    # All singulars are found, so nothing ranks better than the first setting of the grid.
    assert trained.training["best"] == 1.0
    english = tmp_path / "english"
    assert main(["train", "bm25", str(german), "-o", str(english)]) == 0
    assert read_checkpoint(english).training["best"] < 0.5

    given = ("--split", "train", "--tune", "dev", "--field", "lemmas", "--language", "de")
    assert main(["train", "model1", str(german), "-o", str(table), *given]) in (0, FELL_SHORT)
    assert read_checkpoint(table).languages == ("de",)
    capsys.readouterr()

    exported, indexed = tmp_path / "rankers", tmp_path / "search.ranklet"
    succeeds(capsys, "export", tuned, table, "-o", exported)
    assert load(exported).manifest.languages == ("de",)
    verify(exported)
    succeeds(capsys, "index", exported, german, "-o", indexed)
    manifest = load(indexed).manifest
    assert (manifest.languages, manifest.normaliser) == (("de",), "stem")
    assert best(indexed, "Hauses", "bm25") == ["haus"]
    found = load(indexed).rank("Räder und Häuser", pipeline="bm25")
    assert {hit.id for hit in found} == {"rad", "haus"}

    # Another language than that of the training is a decision of its own, and is obeyed.
    again = tmp_path / "again.ranklet"
    succeeds(capsys, "index", indexed, german, "-o", again)
    assert load(again).manifest.languages == ("de",)
    other = tmp_path / "other.ranklet"
    succeeds(capsys, "index", exported, german, "-o", other, "--language", "en")
    assert load(other).manifest.languages == ("en",)
    assert best(other, "Hauses", "bm25") == []


@pytest.mark.parametrize("kind", ["dense", "epic", "splade", "colbert", "srm", "neural_model1"])
def test_kinds_without_words_refuse_a_language(kind: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", kind, "collection", "-o", "checkpoint", "--language", "de"])
    assert ended.value.code == 2
    assert f"{kind} reads word pieces, which are the same in every language" in (
        capsys.readouterr().err
    )


def test_word_pieces_and_a_language_exclude_each_other(tmp_path: Path, capsys: Capture) -> None:
    words = TextOptions(language="de")
    with pytest.raises(InputError, match="nothing but word pieces is"):
        BM25Options(field="wordpieces", tokenizer="vocab.txt", words=words)
    pieces = BM25Settings("wordpieces")
    with pytest.raises(InputError, match="leave them out, or choose --field words or lemmas"):
        Model1Options(field="wordpieces", bm25=pieces, tokenizer="vocab.txt", words=words)
    assert Model1Options(field="wordpieces", tokenizer="vocab.txt", words=words).words == words
    german = collection(tmp_path / "german", GERMAN).path
    output = ("-o", tmp_path / "bm25")
    message = fails(capsys, "train", "bm25", german, *output, "--language", "Germn")
    assert "unknown language 'Germn' (did you mean 'de (German)'" in message
    assert not (tmp_path / "bm25").exists()
