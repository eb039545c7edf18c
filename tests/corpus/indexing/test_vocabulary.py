"""A changed vocabulary is the one that all words would give."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.updates import WORDS, seeded

from ranklet.corpus.indexing.lemmas import vocabulary
from ranklet.corpus.indexing.vocabulary import Words, changed_vocabulary, places
from ranklet.runtime.text.analysis import Vocabulary
from ranklet.runtime.text.words import words

POOL = sorted({word for text in WORDS for word in words(text)})


def of_documents(built: Vocabulary, present: set[str]) -> NDArray[np.bool_]:
    return np.array([form in present for form in built.forms])


@pytest.mark.parametrize("seed", range(40))
def test_it_is_as_from_scratch(seed: int) -> None:
    rng = seeded(seed)
    known = set(rng.sample(POOL, 3))
    bundles, remaining = [], set[str]()
    for _ in range(1 + seed % 3):
        before = set(rng.sample(POOL, rng.randint(1, 12)))
        now = {word for word in before if rng.random() < 0.7}
        built = vocabulary(before | known)
        lemmas = zip(built.forms, built.lemma_of, strict=True)
        kept = {form for form, lemma in lemmas if lemma >= 0}  # no stop words
        bundles.append(
            Words(built, of_documents(built, before & kept), of_documents(built, now & kept))
        )
        remaining |= now
    new = set(rng.sample(POOL, rng.randint(0, 8)))
    changed, numbers = changed_vocabulary(bundles, new | known)
    expected = vocabulary(remaining | new | known)
    assert list(changed.forms) == list(expected.forms)
    np.testing.assert_array_equal(changed.lemma_of, expected.lemma_of)
    assert changed.lemma_of.dtype == np.int32
    for each, own in zip(bundles, numbers, strict=True):
        for form, number in zip(each.vocabulary.forms, own.tolist(), strict=True):
            assert number == expected.forms.find(form)


def test_places_of_few_and_of_many_strings_are_the_same() -> None:
    forms = vocabulary(set(POOL)).forms
    few, many = {"mice", "gnu"}, {*forms, "gnu", chr(0xD83D)}
    assert len(few) * 32 < len(forms) < len(many) * 32
    everywhere = places(forms, many)
    assert everywhere == {form: at for at, form in enumerate(forms)} | {"gnu": -1, chr(0xD83D): -1}
    assert places(forms, few) == {form: everywhere[form] for form in few}
