import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, asdict, field, fields, replace

import pytest

from ranklet.runtime.ground.frozen import frozen
from ranklet.runtime.pipelines.pipeline import Rescore


@frozen
class Sample:
    name: str
    counts: dict[str, int] = field(default_factory=dict, hash=False)
    shown: int = field(default=0, compare=False, repr=False)


def test_a_frozen_class_is_a_dataclass() -> None:
    sample = Sample("a", {"x": 1}, 7)
    assert repr(sample) == "Sample(name='a', counts={'x': 1})"
    assert sample == Sample("a", {"x": 1}, 8) != Sample("a")
    assert hash(sample) == hash(Sample("a"))
    assert replace(sample, name="b") == Sample("b", {"x": 1})
    assert asdict(sample) == {"name": "a", "counts": {"x": 1}, "shown": 7}
    assert [each.name for each in fields(Sample)] == ["name", "counts", "shown"]
    assert deepcopy(sample) == sample
    assert pickle.loads(pickle.dumps(sample)) == sample  # noqa: S301


def test_classes_with_the_same_values_differ() -> None:
    others: list[object] = [Sample("a"), "a"]
    assert Rescore("a") not in others


@pytest.mark.parametrize("name", ["name", "shown", "other"])
def test_a_frozen_instance_stays_as_it_is(name: str) -> None:
    sample = Sample("a")
    with pytest.raises(FrozenInstanceError, match=name):
        setattr(sample, name, "b")
    with pytest.raises(FrozenInstanceError, match=name):
        delattr(sample, name)
    assert sample == Sample("a")
