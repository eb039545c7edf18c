"""Which terms a network knows, and which row each word form has."""

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.rankers.conformer_kernel.terms import term_rows
from ranklet.runtime.rankers.conformer_kernel.network import FIRST, UNKNOWN
from ranklet.runtime.text.words import words
from ranklet.training.rankers.conformer_kernel.vocabulary import choose_terms


def test_terms_are_the_frequent_ones_and_rows_lead_to_them(
    tiny_analysed: AnalysedCollection,
) -> None:
    terms = choose_terms(tiny_analysed, "words", [], least=5, most=6)
    counts: dict[str, int] = {}
    for text in tiny_analysed.read_ranked_texts():
        for word in words(text):
            counts[word] = counts.get(word, 0) + 1
    vocabulary = tiny_analysed.analyzer.vocabulary
    kept = {
        word: n
        for word, n in counts.items()
        if vocabulary.lemma_of[vocabulary.forms.find(word)] >= 0
    }
    assert sorted(counts[term] for term in terms) == sorted(kept.values())[-6:]
    rows = term_rows(("nowhere", *terms), vocabulary, "words")
    for at, term in enumerate(terms):
        assert rows[vocabulary.forms.find(term)] == FIRST + 1 + at
    assert (rows == UNKNOWN).sum() == len(rows) - 6


def test_words_of_another_network_reach_the_stems_of_a_collection() -> None:
    texts = [
        "Studies of infected children and their diseases.",
        "The child studied how generally diseased mice infect others.",
    ]
    documents = [Document(str(at), "", text) for at, text in enumerate(texts)]
    words = (
        "studying",
        "disease",
        "infections",
        "children",
        "child",
        "mouse",
        "diseases",
        "general",
    )
    found = analyse(documents, ["lemmas"], titles=False, known_words=words)
    rows = term_rows(words, found.analyzer.vocabulary, "lemmas")

    def known(text: str) -> list[str]:
        tokens = found.analyzer.begin().asked(text, "lemmas").tolist()
        return [words[row - FIRST] if (row := rows[token]) >= FIRST else "" for token in tokens]

    assert known("study diseased infecting child") == ["studying", "disease", "infections", "child"]
    assert known("children generally mice") == ["child", "general", "mouse"]
