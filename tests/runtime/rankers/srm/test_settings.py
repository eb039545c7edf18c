"""Settings of light vectors that do not go together are refused."""

from typing import Any

import pytest

from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.srm.settings import SRMSettings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimension": 12, "heads": 4}, "no two halves of 4 heads"),
        ({"expansion": "attended"}, "no expansion"),
        ({"stored": "codes"}, "only with the window 0"),
        ({"stored": "codes", "window": 0, "documents": "oracle"}, "light documents"),
        ({"documents": "oracle"}, "queries need no oracle"),
        ({"sub_embeddings": 256}, "sub_embeddings"),
        ({"mixing": "max"}, "mixing"),
        ({"stored": "float16"}, "allowed are int8, int8-pooled, int16, codes"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SRMSettings(**changes)


@pytest.mark.parametrize(
    ("changes", "queries", "documents", "table"),
    [
        ({}, False, False, False),
        ({"context": "neighbours"}, True, True, True),
        ({"window": 0}, False, False, False),
        ({"window": 0, "stored": "codes"}, False, False, True),
        ({"window": 0, "sub_embeddings": 1}, True, True, True),
        ({"window": 0, "mixing": "average"}, True, True, True),
        ({"window": 0, "mixing": "top1"}, False, False, False),
        ({"context": "neighbours", "documents": "oracle"}, True, False, True),
    ],
)
def test_a_network_is_needed_only_for_context_of_the_oracle(
    changes: dict[str, Any], queries: bool, documents: bool, table: bool
) -> None:
    settings = SRMSettings(**changes)
    assert settings.static_queries == queries
    assert settings.static_documents == documents
    assert settings.has_table == table


def test_codes_are_decoded_to_16_bits() -> None:
    assert SRMSettings(stored="codes", window=0).element == "int16"
    assert SRMSettings(stored="int8-pooled").element == "int8"
