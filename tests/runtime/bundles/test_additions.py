"""The list of additions is read only as it was written."""

import json
from typing import Any

import pytest

from ranklet.runtime.bundles.additions import Addition, Additions
from ranklet.runtime.bundles.manifest import seal_manifest
from ranklet.runtime.ground.errors import BundleError

LISTED = Additions("0" * 64, 7, 3, (Addition("000003-0a.zip", 9, "1" * 64),), ((0, 2), ()))


def test_a_list_is_read_as_it_was_written() -> None:
    assert Additions.from_json(LISTED.to_json().encode(), "list") == LISTED


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": "3"}, {"next": -1}, {"next": 1 << 70}, {"deleted": [[]]}, {"deleted": 7},
        {"deleted": [[-1], []]}, {"deleted": [[0.5], []]}, {"parts": [{"file": "a"}]},
        {"other": 1}, {"parts": {}},
        {"parts": [{"file": "../x.zip", "bytes": 9, "sha256": ""}]}, {"format_version": 1},
    ],
)  # fmt: skip
def test_a_damaged_list_is_refused(wrong: dict[str, Any]) -> None:
    text = seal_manifest({**json.loads(LISTED.to_json()), **wrong})
    with pytest.raises(BundleError, match=r"list is damaged: .*ranklet verify"):
        Additions.from_json(text.encode(), "list")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sha256": 1}', "\x00", "[" * 100_000])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(BundleError, match="list is damaged"):
        Additions.from_json(text.encode(), "list")
