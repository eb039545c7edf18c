import numpy as np
import pytest
from tests.runtime.lexical.test_impact_index import build

from ranklet.runtime.syntax.word_postings import Postings


@pytest.mark.parametrize(("lemmas", "wanted"), [(False, [[0], [1]]), (True, [[0, 1]])])
def test_documents_of_words_or_of_all_their_forms(lemmas: bool, wanted: list[list[int]]) -> None:
    lists = {0: {0: 1.0, 1: 1.0}} if lemmas else {0: {0: 1.0}, 1: {1: 1.0}}
    index = build(lists, 2, 3)
    postings = Postings(index, np.array([0, 0], np.int32) if lemmas else None)
    assert [each.tolist() for each in postings.having(np.array([0, 1]))] == wanted
    assert postings.fields == {}
