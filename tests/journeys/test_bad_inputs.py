"""No bad input is silent, and none shows a traceback: one table of inputs and their responses.

`make bad-inputs` writes this table with the place of each refusal to build/bad-inputs.md.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.journeys.bad_inputs.running import Case, Place, Response
from tests.journeys.bad_inputs.table import CASES, TABLE, as_table

if TYPE_CHECKING:
    from tests.conftest import Built


@pytest.fixture
def place(built: "Built", tmp_path: Path) -> Place:
    return Place(
        tmp_path, built.fused, built.exported, built.collection.path, built.checkpoints["bm25"]
    )


@pytest.fixture(scope="module")
def responses() -> Iterator[dict[str, Response]]:
    found: dict[str, Response] = {}
    yield found
    if "WRITE_BAD_INPUTS" in os.environ and len(found) == len(CASES):
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(as_table(found), "utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.area}: {case.name}")
def test_a_bad_input_is_refused_with_its_reason(
    case: Case, place: Place, responses: dict[str, Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(place.folder.rglob("*"))
    response = case.run(place, monkeypatch)
    response = replace(response, text=place.shortened(response.text))
    responses[f"{case.area}: {case.name}"] = response
    assert response.status == case.status, response.text
    assert "Traceback" not in response.text
    assert [each for each in case.words if each not in response.text] == [], response.text
    if response.status != 0:
        assert response.where, "nothing of the product refused it"
    assert before == []
    partial = [path for path in place.folder.rglob("*") if ".partial" in path.name]
    assert partial == []
