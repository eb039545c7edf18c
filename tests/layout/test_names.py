"""Functions are called by verbs; those that are not stand in a list that only shrinks."""

from pathlib import Path

from tests.layout.code import find_participles, is_participle

FROZEN = Path(__file__).with_name("participles.txt")  # file and name, in the order of the walk


def test_a_participle_is_told_from_a_verb() -> None:
    assert all(map(is_participle, ("joined_rows", "kept", "rows_of", "of")))
    assert not any(map(is_participle, ("read_rows", "embed", "feed_all", "set_up")))


def test_no_public_function_is_called_by_a_participle_that_is_not_in_the_list() -> None:
    found, frozen = [*find_participles()], FROZEN.read_text("utf-8").splitlines()
    new, gone = [x for x in found if x not in frozen], [x for x in frozen if x not in found]
    assert not new, f"{new}: call each by a verb, or by a noun if it is a property"
    assert not gone, f"{gone}: take these out of tests/layout/participles.txt, which only shrinks"
