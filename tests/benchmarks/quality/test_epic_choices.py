"""How floors and priorities of EPIC are chosen: by hand on small vectors, then on tiny data."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ranklet.export.sparse.pruning import term_floors, term_priorities
from ranklet.runtime.call.query_vector import SparseQuery
from ranklet.training.data.splits import JudgedQuery

pytest.importorskip("matplotlib", reason="of extra [bench]")
epic_choices = pytest.importorskip("benchmarks.quality.epic_choices")
place = pytest.importorskip("benchmarks.harness.place")

if TYPE_CHECKING:
    from tests.kinds import TinyRankers

TERMS = 6


@pytest.fixture
def studied() -> Any:
    """Documents that a query for term 5 tells apart, though its values are the smallest."""
    vectors = np.tile(np.array([4, 3, 3, 3, 3, 0.1], np.float32), (4, 1))
    vectors[2, 5] = 0.4
    queries = [JudgedQuery("q", "text", {"d2": 1})]
    encoded = [SparseQuery(np.array([0, 5], np.int32), np.array([0.5, 1], np.float32))]
    tokens = [[5]] * 99
    ids = [f"d{at}" for at in range(4)]
    return epic_choices.Study(ids, vectors, vectors.copy(), tokens, queries, encoded)


def test_a_floor_or_a_priority_keeps_what_tells_documents_apart(studied: Any) -> None:
    choice = epic_choices.Choice
    assert studied.whole().tolist() == [1.0]
    assert studied.pruned(choice(None, 0.0), TERMS).tolist() == [1.0]
    # The largest value is the same in all documents, so the order is that of their numbers.
    assert studied.pruned(choice(None, 0.0), 1).tolist() == [pytest.approx(1 / 3)]
    assert studied.pruned(choice(0.5, 0.0), 1).tolist() == [1.0]
    assert studied.pruned(choice(None, 1.0), 1).tolist() == [1.0]


def test_the_usual_way_is_that_of_an_export(studied: Any) -> None:
    assert epic_choices.USUAL in epic_choices.ways()
    assert epic_choices.Choice(None, 0.0) == epic_choices.ways()[0]
    np.testing.assert_array_equal(
        studied.floors(epic_choices.USUAL.floor), term_floors(studied.probes)
    )
    np.testing.assert_array_equal(studied.floors(None), np.zeros(TERMS))
    priorities = term_priorities([[0, 1], [1]], 3)
    np.testing.assert_allclose(
        np.array([2, 3, 1]) ** epic_choices.USUAL.exponent, priorities, rtol=1e-6
    )


@pytest.mark.slow
def test_every_way_has_a_row_and_values_are_drawn(
    tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny.data.collection.path, tmp_path / "data" / "qa-mix")
    checkpoint = tiny.checkpoint("epic")
    monkeypatch.setattr(epic_choices, "qa_mix_epic", lambda place: checkpoint)
    monkeypatch.setattr(epic_choices, "PICTURE", tmp_path / "values.png")
    monkeypatch.setattr(epic_choices, "KEPT", (3, 50))
    monkeypatch.setattr(epic_choices, "HELD_OUT", "train")  # a tenth of the miniature is too little
    monkeypatch.setattr(epic_choices, "TUNING_QUERIES", 3)
    found = epic_choices.run(place.Place(tmp_path / "data", tmp_path / "work"))
    assert (tmp_path / "values.png").read_bytes().startswith(b"\x89PNG")
    rows = [line.split("|") for line in found.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(epic_choices.ways())
    usual = [row for row in rows[2:] if row[1].strip() == "50%" and row[2].strip() == "0.25"]
    assert len(usual) == 1
    assert not usual[0][-2].strip()  # it is not compared with itself
    # What is searched is kept whole where r is as large as the vocabulary.
    studied = epic_choices.study(place.Place(tmp_path / "data", tmp_path / "work"), checkpoint, 3)
    paper = studied.pruned(epic_choices.Choice(None, 0.0), studied.vectors.shape[1])
    np.testing.assert_allclose(paper, studied.whole())
