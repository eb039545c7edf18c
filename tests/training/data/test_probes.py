from ranklet.training.data.probes import Probes


def test_the_nearest_probes_hold_what_is_to_be_found() -> None:
    probes = Probes(("a", "b", "c"), tuple("stuvwxyz"), ((7,), (2, 7), (5,)))
    found = probes.nearest(2, 4)
    assert found == Probes(("a", "b"), ("z", "u", "s", "t"), ((0,), (1, 0)))
    assert probes.nearest(2, 1) == Probes(("a", "b"), ("z",), ((0,), (0,)))
    assert probes.nearest(9, 99).queries == probes.queries
