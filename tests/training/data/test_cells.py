"""Cells are strings that remember where they come from."""

import pickle

from ranklet.training.data.cells import Cell, texts_in


def test_a_cell_is_its_text() -> None:
    cell = Cell("2020")
    assert cell == "2020"
    assert isinstance(pickle.loads(pickle.dumps(cell)), Cell)  # noqa: S301
    assert texts_in([cell, 1]) == ["2020"]
