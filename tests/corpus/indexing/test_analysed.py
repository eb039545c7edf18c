from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection, Document
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.lexical.bm25 import idf, saturation
from ranklet.runtime.text.words import stop_words, words

FIELDS = ("lemmas", "words", "wordpieces")


def texts(collection: Collection) -> list[str]:
    return [f"{each.title}\n{each.text}" for each in collection.documents()]


def plain_tokens(
    collection: Collection, analysed: AnalysedCollection, field: str
) -> list[list[str]]:
    """Return the tokens of every document, spelled, by the simplest code there is."""
    analyzer = analysed.analyzer
    if field == "wordpieces":
        tokenizer = analyzer.tokenizer
        return [
            tokenizer.encode(text, add_special_tokens=False).tokens for text in texts(collection)
        ]
    found = [[w for w in words(text) if w not in stop_words()] for text in texts(collection)]
    if field == "words":
        return found
    forms, lemma_of = list(analyzer.vocabulary.forms), analyzer.vocabulary.lemma_of
    return [[forms[lemma_of[forms.index(word)]] for word in document] for document in found]


@pytest.mark.parametrize("field", FIELDS)
def test_tokens_are_those_of_plain_python(
    collection: Collection, analysed: AnalysedCollection, field: str
) -> None:
    name = analysed.analyzer.begin().name
    spelled = "words" if field == "lemmas" else field  # a lemma is shown as a word
    tokens, offsets = analysed.tokens(field), analysed.offsets(field)
    found = [
        [name(token, spelled) for token in tokens[offsets[at] : offsets[at + 1]].tolist()]
        for at in range(len(offsets) - 1)
    ]
    assert found == plain_tokens(collection, analysed, field)


@pytest.mark.parametrize("field", FIELDS)
def test_postings_are_those_of_plain_python(
    collection: Collection, analysed: AnalysedCollection, field: str
) -> None:
    documents = plain_tokens(collection, analysed, field)
    wanted: dict[str, list[tuple[int, int]]] = {}
    for number, document in enumerate(documents):
        for token, count in Counter(document).items():
            wanted.setdefault(token, []).append((number, count))
    postings, name = analysed.postings(field), analysed.analyzer.begin().name
    spelled = "words" if field == "lemmas" else field
    assert len(postings.offsets) == analysed.analyzer.size(field) + 1
    found = {}
    for term, (begin, end) in enumerate(pairwise(postings.offsets.tolist())):
        if end > begin:
            numbers = postings.documents[begin:end].tolist()
            counts = postings.frequencies[begin:end].astype(int).tolist()
            found[name(term, spelled)] = list(zip(numbers, counts, strict=True))
    assert found == wanted
    assert postings.lengths.tolist() == [len(each) for each in documents]
    assert postings.average_length == pytest.approx(np.mean([len(each) for each in documents]))
    frequencies = analysed.frequencies(field)
    assert int(frequencies.sum()) == sum(map(len, documents))
    assert len(frequencies) == analysed.analyzer.size(field)


@pytest.mark.parametrize("field", FIELDS)
def test_impacts_are_idf_times_saturation(analysed: AnalysedCollection, field: str) -> None:
    postings = analysed.postings(field)
    index = postings.bm25(0.9, 0.4)
    index.verify(field)
    assert index.size == 42
    for term in np.flatnonzero(np.diff(postings.offsets)).tolist()[::7]:
        begin, end = postings.offsets[term], postings.offsets[term + 1]
        documents, impacts = index.postings(term)
        lengths, tf = postings.lengths[documents], postings.frequencies[begin:end]
        wanted = idf(np.array([end - begin]), 42) * saturation(
            tf, lengths, postings.average_length, 0.9, 0.4
        )
        np.testing.assert_allclose(impacts, wanted, rtol=1e-5)
        assert index.largest[term] == impacts.max()


def test_titles_may_be_left_out() -> None:
    documents = [Document("a", "zork", "gnorp")]
    assert len(analyse(documents, ["words"]).tokens("words")) == 2
    assert len(analyse(documents, ["words"], titles=False).tokens("words")) == 1


def test_a_title_does_not_grow_together_with_its_text() -> None:
    analysed = analyse([Document("a", "zo", "rk")], ["words"])
    assert analysed.analyzer.vocabulary.forms.find("zork") == -1


def test_known_words_are_in_the_vocabulary() -> None:
    analysed = analyse([Document("a", "", "mice")], ["words"], known_words=["gnorp", "the"])
    assert analysed.analyzer.vocabulary.forms.find("gnorp") >= 0
    assert analysed.frequencies("words").sum() == 1


def test_what_cannot_be_analysed_is_refused() -> None:
    with pytest.raises(CollectionError, match="no document"):
        analyse([], ["words"])
    with pytest.raises(InputError, match="unknown field 'stems'; known are lemmas"):
        analyse([Document("a", "", "")], ["stems", "words"])
    with pytest.raises(InputError, match="need a tokenizer"):
        analyse([Document("a", "", "")], ["wordpieces"])
