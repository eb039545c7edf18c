from random import Random

import numpy as np
import pytest
from tests.runtime.syntax.test_meaning import LANGUAGES
from tests.runtime.text.test_searchable import SEPARATORS, WORDS

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.indexing.analysed import analyse
from ranklet.corpus.languages.options import TextOptions
from ranklet.runtime.bundles.documents import Documents


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_that_are_not_stored_are_found_in_the_texts(language: str) -> None:
    random, pool = Random(5), [*" ".join(WORDS).split(), *LANGUAGES[language]]
    rows = [
        Document(str(at), random.choice(pool), "".join(
            each + random.choice(SEPARATORS) for each in random.choices(pool, k=12)
        ))
        for at in range(40)
    ]  # fmt: skip
    found = analyse(rows, ["lemmas"], options=TextOptions(language=language))
    held = found.documents
    bare = Documents(held.ids, held.by_id, held.titles, held.texts, {}, held.vocabulary)
    numbers = np.array([7, 3, 39, 3, 0], np.uint32)
    for field in ("words", "lemmas", "classes"):
        stored, read = held.tokens(field, numbers), bare.tokens(field, numbers)
        assert stored.tokens.tolist() == read.tokens.tolist()
        assert stored.lengths.tolist() == read.lengths.tolist()
    word = held.words(numbers[:1]).tokens[:1]
    having = [at for at in range(40) if word[0] in held.words(np.array([at])).tokens]
    assert {*having} <= {*bare.that_may_have(word, np.arange(40)).tolist()}
    assert not len(bare.words(numbers[:0]).tokens)
