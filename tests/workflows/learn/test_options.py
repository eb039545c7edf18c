"""What learning may cost is checked before an hour of learning."""

from typing import Any

import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.workflows.learn.options import LearnOptions


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0.0}, "minutes is 0.0; it must be a number from 0.01"),
        ({"minutes": float("nan")}, "minutes is nan"),
        ({"minutes": float("inf")}, "minutes is inf"),
        ({"max_ms": -1}, "max_ms is -1"),
        ({"measure": "AP"}, "unknown measure"),
        ({"model": "m", "lexical": True}, "--model names an encoder to train"),
        ({"model": "m", "training": False}, "--model names an encoder to train"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LearnOptions(**given)
