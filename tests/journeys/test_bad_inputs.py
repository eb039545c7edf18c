"""No bad input of a command is silent, and none shows a traceback."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.journeys.bad_inputs.command_cases import BUNDLES, MODELS, OPTIONS
from tests.journeys.bad_inputs.data_cases import COLLECTIONS, JUDGEMENTS, SOURCES
from tests.journeys.bad_inputs.running import Case, Place
from tests.journeys.bad_inputs.update_cases import FILTERS, JOINS, UPDATES

if TYPE_CHECKING:
    from tests.conftest import Built

CASES = COLLECTIONS + JUDGEMENTS + SOURCES + OPTIONS + BUNDLES + MODELS + UPDATES + JOINS + FILTERS


@pytest.fixture
def place(built: "Built", tmp_path: Path) -> Place:
    return Place(
        tmp_path, built.fused, built.exported, built.collection.path, built.checkpoints["bm25"]
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.area}: {case.name}")
def test_a_bad_input_is_refused_with_its_reason(case: Case, place: Place) -> None:
    before = sorted(place.folder.rglob("*"))
    response = case.run(place)
    response = replace(response, text=place.shortened(response.text))
    assert response.status == case.status, response.text
    assert "Traceback" not in response.text
    assert [each for each in case.words if each not in response.text] == [], response.text
    assert before == []
    partial = [path for path in place.folder.rglob("*") if ".partial" in path.name]
    assert partial == []
