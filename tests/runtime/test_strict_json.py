"""A key that stands twice is an error, because one of its values would be lost."""

import pytest

from ranklet.runtime.strict_json import DECODER


def test_a_key_stands_once_in_each_object() -> None:
    assert DECODER.decode('{"a": {"b": 1}, "b": [{"a": 2}]}') == {"a": {"b": 1}, "b": [{"a": 2}]}
    with pytest.raises(ValueError, match="'b' stands twice in an object"):
        DECODER.decode('{"a": [{"b": 1, "c": 2, "b": 3}]}')
