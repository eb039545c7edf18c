"""Settings of light vectors that do not go together are refused."""

from typing import Any

import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.srm.settings import SRMSettings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimension": 13}, "13 numbers have no two halves"),
        ({"expansion": "attended"}, "no expansion"),
        ({"stored": "codes"}, "only with the window 0"),
        ({"sub_embeddings": 256}, "sub_embeddings"),
        ({"mixing": "max"}, "mixing"),
        ({"stored": "float16"}, "allowed are int8, int16, codes"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SRMSettings(**changes)


@pytest.mark.parametrize(
    ("changes", "static"),
    [
        ({}, False),
        ({"context": "neighbours"}, True),
        ({"window": 0}, False),
        ({"window": 0, "sub_embeddings": 1}, True),
        ({"window": 0, "mixing": "average"}, True),
        ({"window": 0, "mixing": "top1"}, False),
    ],
)
def test_a_network_is_needed_only_for_context_of_the_oracle(
    changes: dict[str, Any], static: bool
) -> None:
    assert SRMSettings(**changes).static == static


def test_codes_are_decoded_to_16_bits() -> None:
    assert SRMSettings(stored="codes", window=0).element == "int16"
    assert SRMSettings(stored="int8").element == "int8"
