import numpy as np
import pytest

from ranklet.corpus.indexing import word_tokens as module
from ranklet.corpus.indexing.word_tokens import WordReader, WordTokens
from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.text.analysis import Vocabulary

TEXTS = [b"The cat and the dog", b"", "dog's\u2003café".encode(), b"the", b"cat (cat)."]


@pytest.mark.parametrize("together", [1, 2, 100])
def test_tokens_are_numbers_of_the_vocabulary_without_stop_words(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(module, "_TOKENS", 2)
    tokens, reader = WordTokens(), WordReader(["and", "the"])
    for begin in range(0, len(TEXTS), together):
        tokens.add(reader.read(TEXTS[begin : begin + together]))
    forms = sorted(tokens.words())
    assert forms == ["and", "cafe", "cat", "dog", "the"]
    vocabulary = Vocabulary(SortedStrings.pack(forms), np.zeros(5, np.int32))
    forward = tokens.forward(vocabulary)
    spelled = [forms[token] for token in forward.tokens]
    texts = [spelled[b:e] for b, e in zip(forward.offsets, forward.offsets[1:], strict=False)]
    assert texts == [["cat", "dog"], [], ["dog", "cafe"], [], ["cat", "cat"]]


def test_no_texts_have_no_tokens() -> None:
    tokens = WordTokens()
    tokens.add(WordReader(["the"]).read([]))
    assert tokens.words() == {"the"}
    forward = tokens.forward(Vocabulary(SortedStrings.pack(["the"]), np.zeros(1, np.int32)))
    assert (forward.tokens.tolist(), forward.offsets.tolist()) == ([], [0])


@pytest.mark.parametrize("together", [1, 3, 100])
def test_stop_words_that_only_the_vocabulary_knows_are_left_out(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(module, "_TOKENS", together)
    tokens, readers = WordTokens(), [WordReader([]), WordReader([])]
    for at, text in enumerate(TEXTS):
        tokens.add(readers[at % 2].read([text]), at % 2)
    forms = sorted(tokens.words())
    lemma_of = np.array([-1 if form in ("and", "the") else 0 for form in forms], np.int32)
    forward = tokens.forward(Vocabulary(SortedStrings.pack(forms), lemma_of))
    assert [forms[token] for token in forward.tokens] == ["cat", "dog", "dog", "cafe", "cat", "cat"]
    assert forward.offsets.tolist() == [0, 2, 2, 4, 4, 6]
