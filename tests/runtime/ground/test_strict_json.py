"""A key that stands twice is an error, because one of its values would be lost."""

import pytest
from tests.growth import grows_linearly

from ranklet.runtime.ground.strict_json import DECODER, unique


def test_a_key_stands_once_in_each_object() -> None:
    assert DECODER.decode('{"a": {"b": 1}, "b": [{"a": 2}]}') == {"a": {"b": 1}, "b": [{"a": 2}]}
    with pytest.raises(ValueError, match="'b' stands twice in an object"):
        DECODER.decode('{"a": [{"b": 1, "c": 2, "b": 3}]}')


def test_the_key_is_found_in_linear_time() -> None:
    """Of a request of 4 MB, whose last key stands twice, the search took hours."""

    def work(keys: str) -> None:
        pairs = [(str(place), None) for place in range(len(keys))]
        with pytest.raises(ValueError, match="stands twice"):
            unique([*pairs, pairs[-1]])

    assert grows_linearly(work, "x" * 300)
