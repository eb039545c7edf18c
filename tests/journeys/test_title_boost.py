"""BM25 in which words of titles count more often, compared with a formula in plain Python."""

import math
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.commands.running import Capture, fails, succeeds

from ranklet.commands import main
from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.indexing.analysed import analyse
from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.rankers.bm25 import BM25, BM25Settings
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.verification import verify
from ranklet.training.checkpoint import read_checkpoint
from ranklet.workflows.build import build

# Stop words, an accent, an apostrophe and an empty string show where titles and texts are joined.
WORDS = ["bread", "dough", "water", "café", "gnorp", "zork", "the", "of", "don't", "it's", "x1"]
STOPPED = {"the", "of", "it", "don't"}
QUERY = "bread gnorp of café x1 bread zork"


def rows(random: Random, count: int) -> list[dict[str, Any]]:
    """Return documents, some of which have no title."""

    def text(most: int) -> str:
        return " ".join(random.choices(WORDS, k=random.randint(0, most)))

    return [
        {"id": f"d{number}", "title": text(4), "text": f"{text(9)} loaf"} for number in range(count)
    ]


def tokens(text: str) -> list[str]:
    words = [word.removesuffix("'s").replace("é", "e") for word in text.split()]
    return [word for word in words if word not in STOPPED]


def by_formula(documents: list[dict[str, Any]], query: str, boost: float) -> dict[str, float]:
    """Return the scores above 0: Σ idf · tf / (tf + k1 (1 − b + b · length / average))."""
    k1, b = BM25Settings.k1, BM25Settings.b
    counts, lengths = [], []
    for row in documents:
        title, text = Counter(tokens(row["title"])), Counter(tokens(row["text"]))
        counts.append({word: boost * title[word] + text[word] for word in title | text})
        lengths.append(boost * title.total() + text.total())
    average, found = sum(lengths) / len(lengths), {}
    for row, count, length in zip(documents, counts, lengths, strict=True):
        score = 0.0
        for word in tokens(query):
            df, tf = sum(word in each for each in counts), count.get(word, 0)
            idf = math.log1p((len(documents) - df + 0.5) / (df + 0.5))
            score += idf * tf / (tf + k1 * (1 - b + b * length / average))
        if score:
            found[row["id"]] = score
    return found


def ranked(bundle: Bundle, query: str = QUERY) -> dict[str, float]:
    return {hit.id: hit.score for hit in bundle.rank(query, k=1000)}


@pytest.mark.parametrize("boost", [1, 2, 2.5, 100])
def test_scores_equal_the_formula(tmp_path: Path, boost: float) -> None:
    documents = rows(Random(3), 60)
    exact: dict[str, Any] = {"language": "en", "normaliser": "none", "impacts": "float32"}
    bundle = load(build(documents, tmp_path / "b.ranklet", title_boost=boost, **exact))
    wanted = by_formula(documents, QUERY, boost)
    assert len(wanted) > 40
    assert ranked(bundle) == pytest.approx(wanted, rel=1e-5)
    verify(bundle.path)


def test_an_explanation_says_that_titles_are_boosted_and_adds_up(tmp_path: Path) -> None:
    documents = rows(Random(6), 30)
    bundle = load(build(documents, tmp_path / "b.ranklet", language="en", title_boost=2.5))
    for hit in bundle.rank(QUERY, k=30, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.label == "BM25 over words, where words of titles count 2.5 times"
        assert sum(part.value for part in hit.explanation.parts) == pytest.approx(
            hit.score, rel=1e-5
        )
    plain = load(build(documents, tmp_path / "plain.ranklet", language="en", title_boost=1))
    explained = plain.rank(QUERY, k=1, explain=True)[0].explanation
    assert explained is not None
    assert explained.label == "BM25 over words"


@pytest.mark.parametrize("language", ["fr", "ja", "th"])
def test_words_of_a_title_are_the_first_of_a_document(language: str) -> None:
    """Where words have no spaces, pairs of letters do not reach from a title into its text."""
    from ranklet.corpus.languages.options import TextOptions

    parts = ["東京タワー", "l'été du café", "ไทยแลนด์", "don't 7", "", "猫", "Journal’s"]
    documents = [
        Document(f"{at}-{on}", title, text or "x")
        for at, title in enumerate(parts)
        for on, text in enumerate(parts)
    ]
    analysed = analyse(documents, ["words"], options=TextOptions(language=language))
    offsets, forward = analysed.offsets("words"), analysed.tokens("words")
    analysis = analysed.analyzer.begin()
    for number, length in enumerate(analysed._title_lengths().tolist()):
        alone = analysis.tokens(documents[number].title, "words").tolist()
        begin = offsets[number]
        assert forward[begin : begin + length].tolist() == alone


def test_it_is_trained_and_exported_with(tmp_path: Path, capsys: Capture) -> None:
    documents = rows(Random(9), 30)
    splits = {"train": ([Query("q", QUERY)], {"q": {"d3": 1}})}
    listed = [Document(row["id"], row["title"], row["text"]) for row in documents]
    collection = write_collection(tmp_path / "c", listed, splits)
    trained, exported, indexed = (tmp_path / name for name in ("bm25", "rankers", "s.ranklet"))
    succeeds(capsys, "train", "bm25", collection.path, "-o", trained, "--title-boost", "3")
    settings = read_checkpoint(trained).settings
    assert settings.title_boost == 3
    for more, boost in (((), 3), (("--title-boost", "5", "--force"), 5)):
        succeeds(capsys, "export", trained, "-o", exported, *more)
        succeeds(capsys, "index", exported, collection.path, "-o", indexed, "--force")
        ranker = open_ranker(load(indexed).files, "bm25")
        assert isinstance(ranker, BM25)
        assert ranker.settings == BM25Settings("lemmas", settings.k1, settings.b, boost)
    analysed = analyse(Collection(collection.path).documents(), ["lemmas"])
    assert isinstance(ranker, BM25)
    assert ranker.average_length == pytest.approx(
        analysed.bm25(BM25Settings(title_boost=5)).average_length
    )
    message = fails(capsys, "index", exported, collection.path, "-o", tmp_path / "n", "--no-titles")
    assert "title_boost is 5, but titles are not ranked" in message
    assert not (tmp_path / "n").exists()
    built = ("build", collection.path, "-o", tmp_path / "n", "--title-boost")
    with pytest.raises(SystemExit):
        main(list(map(str, (*built, "0.5"))))
    assert "title_boost is 0.5; it must be a number from 1 to 100" in capsys.readouterr().err
    assert "titles are not ranked" in fails(capsys, *built, "2", "--no-titles")
