import pytest

from ranklet.corpus.collections.collection import Collection, Document
from ranklet.corpus.indexing import collection_words
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.languages.names import AUTO
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.ground.errors import CollectionError, InputError
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


@pytest.mark.parametrize("last", ["The houses of the cat", "Die Häuser und der Hund sind hier"])
def test_words_found_while_texts_are_read_are_those_that_are_found_later(
    last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_words, "SAMPLE", 3)
    written = ["The cat is in the house"] * 9 + [last] * 9
    rows = [Document(f"{at}", "Title", text) for at, text in enumerate(written)]
    options = TextOptions(language=AUTO)
    early = analyse(rows, ["words"], options=options)
    monkeypatch.setattr(collection_words, "are_english", lambda _: False)
    late = analyse(rows, ["words"], options=options)
    assert early.languages == late.languages
    assert list(early.analyzer.vocabulary.forms) == list(late.analyzer.vocabulary.forms)
    assert early.tokens("words").tolist() == late.tokens("words").tolist()
    assert early.offsets("words").tolist() == late.offsets("words").tolist()
