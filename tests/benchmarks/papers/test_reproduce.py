"""A paper's row is computed with its weights, and compared with the paper's value."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.kinds import TinyRankers

from ranklet.corpus.collections.collection import Collection, write_collection

reproduce = pytest.importorskip("benchmarks.papers.reproduce")


def test_every_row_can_be_computed() -> None:
    for name, paper in reproduce.PAPERS.items():
        assert paper.pipeline()[-1]["ranker"] == reproduce.RANKER, name
        assert all(0 < value < 1 for value in paper.published.values())
    assert reproduce.PAPERS["sim_pair"].choices == {"marking": "sim_pair"}
    assert "bert-sim-pair" in reproduce.PAPERS["sim_pair"].source
    assert reproduce.PAPERS["vanilla"].choices == {}


@pytest.mark.slow
@pytest.mark.parametrize("reads", [0, 20])
def test_a_stand_in_is_within_the_tolerance_or_not(
    reads: int, tiny: TinyRankers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tiny.checkpoint("epic").save(tmp_path / "published")
    paper = replace(reproduce.PAPERS["epic"], reads=reads, options={"prune": 40})

    def written(place: Path, splits: dict[str, str]) -> Collection:
        assert splits == {"dev": "msmarco-passage/dev/small"}
        given = tiny.data.collection
        judged = {"dev": (list(given.queries("dev")), given.qrels("dev"))}
        return write_collection(place, list(given.documents()), judged)

    def run(value: float) -> Any:
        rows = {"epic": replace(paper, published={"MRR@10": value})}
        with patch.object(reproduce, "PAPERS", rows):
            status = reproduce.main(["epic", str(checkpoint), "--work", str(tmp_path / "work")])
        return status, capsys.readouterr().out

    with patch.object(reproduce, "write_dataset", written):
        status, said = run(0.0)
    measured = float(said.splitlines()[-1].split()[2])
    assert (status, measured > 0.02) == (1, True)
    assert f"+{measured:.4f}" in said
    status, said = run(measured)  # what was built is kept, so nothing is fetched
    assert (status, "within 0.01" in said) == (0, True)


def test_weights_that_are_not_there_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        reproduce.main(["repbert", "/nowhere"])
    assert "jingtaozhan/RepBERT-Index" in capsys.readouterr().err
