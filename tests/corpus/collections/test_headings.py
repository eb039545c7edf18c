"""The headings of a part of a text are those that a walk over all headings finds."""

from random import Random

from ranklet.corpus.collections.headings import Heading, Outline


def walked(found: list[Heading], begin: int, end: int) -> tuple[str, ...]:
    """Return the headings of the characters that most of a part has, one after another."""
    paths: dict[tuple[str, ...], int] = {}
    for place in range(begin, end):
        path: list[Heading] = []
        for each in found:
            if each.start <= place:
                path = [*(other for other in path if other.level < each.level), each]
        name = tuple(f"{each.start}" for each in path)
        paths[name] = paths.get(name, 0) + 1
    return max(paths, key=lambda name: (paths[name], name == ()))


def test_a_part_stands_under_the_headings_that_most_of_its_characters_stand_under() -> None:
    draw = Random(1)
    for _ in range(300):
        starts = sorted(draw.sample(range(40), draw.randint(0, 6)))
        found = [Heading(each, draw.randint(1, 4), f"{each}") for each in starts]
        begin = draw.randint(0, 40)
        end = begin + draw.randint(1, 25)
        heading = Outline(found).main_heading(begin, end)
        lengths = [walked(found, begin, end), heading]
        shares = [
            sum(walked(found, at, at + 1) == each for at in range(begin, end)) for each in lengths
        ]
        assert shares[0] == shares[1]  # of two that have as much, either may be the one
