from pathlib import Path

import numpy as np
import pytest

from ranklet.runtime import load
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.syntax import exact_phrases
from ranklet.runtime.syntax.exact_phrases import ExactPhrases, Excluded
from ranklet.runtime.syntax.searched_texts import SearchedTexts
from ranklet.workflows.build import build

TEXTS = ["the state of the art", "a state of art", "state of the art the end", "state the art"]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> SearchedTexts:
    bundle = load(build(TEXTS, tmp_path_factory.mktemp("exact") / "b"))
    return SearchedTexts(bundle.files.need_documents())


def test_stop_words_count(documents: SearchedTexts) -> None:
    phrases = ExactPhrases(documents, ["State of the Art"], [], Deadline())
    assert phrases.fitting(np.arange(4)).tolist() == [True, False, True, False]


def test_an_excluded_phrase_is_looked_for_only_where_it_is_possible(
    documents: SearchedTexts,
) -> None:
    possible = np.array([True, True, False, True])
    excluded = [Excluded("state of the art", possible)]
    phrases = ExactPhrases(documents, [], excluded, Deadline())
    assert phrases.fitting(np.arange(4)).tolist() == [False, True, True, True]


def test_at_the_deadline_the_last_documents_are_not_read(documents: SearchedTexts) -> None:
    phrases = ExactPhrases(documents, ["the art"], [], Deadline(0))
    assert phrases.fitting(np.arange(4)).tolist() == [True]
    assert phrases.fitting(np.array([1])).tolist() == []


def test_a_call_with_a_budget_reads_only_so_many_characters(
    documents: SearchedTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_phrases, "MOST_CHARACTERS", len(TEXTS[0]) + 1)
    assert len(ExactPhrases(documents, ["the art"], [], Deadline(1e6)).fitting(np.arange(4))) == 2
    assert len(ExactPhrases(documents, ["the art"], [], Deadline()).fitting(np.arange(4))) == 4


def test_a_phrase_of_one_repeated_word_takes_no_longer_than_others(tmp_path: Path) -> None:
    repeated = load(build(["a1 " * 300 + "b1"], tmp_path / "b")).files.need_documents()
    phrases = ExactPhrases(SearchedTexts(repeated), ["a1 " * 200 + "c1"], [], Deadline())
    assert phrases.fitting(np.arange(1)).tolist() == [False]
