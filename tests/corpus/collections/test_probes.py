from ranklet.corpus.collections import probes as module
from ranklet.corpus.collections.probes import Probes


def test_the_nearest_probes_hold_what_is_to_be_found() -> None:
    probes = Probes(("a", "b", "c"), tuple("stuvwxyz"), ((7,), (2, 7), (5,)))
    found = probes.nearest(2, 4)
    assert found == Probes(("a", "b"), ("z", "u", "s", "t"), ((0,), (1, 0)))
    assert probes.nearest(2, 1) == Probes(("a", "b"), ("z",), ((0,), (0,)))
    assert probes.nearest(9, 99).queries == probes.queries


def test_too_few_texts_are_completed_and_enough_are_left_alone() -> None:
    few = Probes(("a", "b"), ("c", "d", "e"), ((1,), ()))
    whole = few.completed()
    assert (len(whole.queries), len(whole.documents)) == (
        module.LEAST_QUERIES, module.LEAST_DOCUMENTS
    )  # fmt: skip
    assert whole.queries[:2] == few.queries
    assert whole.documents[:3] == few.documents
    assert whole.relevant[:3] == ((1,), (), ())
    assert len(whole.relevant) == len(whole.queries)
    assert (whole.own, whole.nearest(4, 9).own, few.own) == ((2, 3), (2, 3), (2, 3))
    assert whole.completed() == whole
    many = tuple(map(str, range(300)))
    assert Probes(many, many, ((),) * 300).completed() == Probes(many, many, ((),) * 300)


def test_a_text_that_is_also_neutral_is_not_there_twice() -> None:
    neutral = Probes((), (), ()).completed()
    assert neutral.own == (0, 0)
    own = Probes(neutral.queries[:3], neutral.documents[5:7], ((),) * 3)
    assert len({*own.completed().documents}) == module.LEAST_DOCUMENTS
