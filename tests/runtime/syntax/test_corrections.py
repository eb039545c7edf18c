import random

import pytest

from ranklet.runtime.storage.strings import SortedStrings
from ranklet.runtime.syntax.corrections import (
    LONGEST,
    _variants,
    corrected,
    one_edit,
    ranges_near,
    two_edits,
)
from ranklet.runtime.text.analysis import splitter

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("word", "variant"),
    [
        ("bread", "bred"),
        ("bread", "braed"),
        ("bread", "bready"),
        ("bread", "broad"),
        ("хлеб", "хлев"),
    ],
)
def test_one_edit_is_one_letter(word: str, variant: str) -> None:
    forms = SortedStrings.pack(sorted([word, variant, "other"]))
    assert {forms[each] for each in one_edit(word, forms)} == {variant}


def test_two_edits_are_too_many() -> None:
    assert not one_edit("bread", SortedStrings.pack(["beard"]))


def test_every_word_of_one_edit_is_found_among_many() -> None:
    rng = random.Random(1)
    some = {"".join(rng.choices("abc", k=rng.randint(1, 6))) for _ in range(800)}
    forms = SortedStrings.pack(sorted(some | {"a1b", "ab1"}))
    for word in [*rng.sample(sorted(some), 100), "b", "ab", "cabbage"]:
        cuts = range(len(word) + 1)
        tried = {v for at in cuts for v in _variants(word[:at], word[at:], LETTERS)} - {word}
        found = {forms[each] for each in one_edit(word, forms)} - {word}
        assert found == tried & set(forms), word


def test_every_word_of_two_edits_is_found_among_many() -> None:
    rng = random.Random(2)
    some = {"".join(rng.choices("abc", k=rng.randint(6, 11))) for _ in range(3000)}
    forms = SortedStrings.pack(sorted(some))
    for word in ["".join(rng.choices("abc", k=rng.randint(8, 10))) for _ in range(20)]:
        cuts = range(len(word) + 1)
        one = {v for at in cuts for v in _variants(word[:at], word[at:], "abc")} | {word}
        two = {
            v for each in one for at in range(len(each) + 1)
            for v in _variants(each[:at], each[at:], "abc")
        }  # fmt: skip
        # A letter between two that were swapped makes three edits of such a word and two here.
        found = {forms[each] for each in two_edits(word, forms)}
        assert one & some & {each for each in some if each[0] == word[0]} <= found
        assert found <= two | one
        assert len(found) > 1


@pytest.mark.parametrize(
    ("word", "other", "near"),
    [
        ("constantinpel", "constantinople", True),
        ("konstantinpel", "constantinople", False),
        ("зравсвуйте", "здравствуйте", True),
        ("abcdefgh", "abdcefhg", True),
        ("abcdefgh", "abcdefghxyz", False),
        ("abcdefgh", "abcdefgh1x", False),  # no word of letters
    ],
)
def test_two_edits(word: str, other: str, near: bool) -> None:
    forms = SortedStrings.pack(sorted({other, "zzz", word[0]}))
    assert (other in {forms[each] for each in two_edits(word, forms)}) == near


def test_every_string_that_begins_nearly_so_is_found() -> None:
    rng = random.Random(3)
    some = {"".join(rng.choices("abc ", k=rng.randint(1, 9))) for _ in range(800)}
    strings = SortedStrings.pack(sorted(some))
    for prefix in ["".join(rng.choices("abc", k=rng.randint(2, 6))) for _ in range(60)]:
        cuts = range(len(prefix) + 1)
        begin = {v for at in cuts for v in _variants(prefix[:at], prefix[at:], LETTERS)}
        wanted = {each for each in some if any(each.startswith(b) for b in begin)}
        ranges = ranges_near(prefix, strings)
        found = {strings[each] for span in ranges for each in range(*span)}
        found |= {each for each in some if each.startswith(prefix)}  # of no edit
        assert found == wanted | {each for each in some if each.startswith(prefix)}, prefix


def test_few_words_are_looked_at_for_a_word_that_begins_as_none() -> None:
    class Counting(SortedStrings):
        looked = 0

        def raw(self, index: int) -> bytes:
            self.looked += 1
            return super().raw(index)

    forms = Counting.pack([f"w{number:05}" for number in range(20_000)])
    forms.looked = 0
    assert not one_edit("q" * LONGEST, forms)
    assert forms.looked < 2_000


def test_a_part_of_a_name_in_camel_case_is_left_as_it_is() -> None:
    found = corrected("Braed, theBraed", {"braed": "bread"}, splitter(["en"]))
    assert found == "bread, theBraed"
