from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands.running import Capture, strict, succeeds

from ranklet.runtime import Bundle
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.training.data.trec import read_run

if TYPE_CHECKING:
    from tests.conftest import Built


def test_eval_prints_a_table_and_writes_runs(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    runs = tmp_path / "a" / "runs"
    begin = ("eval", built.fused, built.collection.path, "--runs", runs)
    arguments = (*begin, "--pipelines", "bm25,linear", "--consistency", "3")
    text = succeeds(capsys, *arguments)
    assert [line.split()[0] for line in text.splitlines()[:3]] == ["system", "bm25", "linear"]
    assert "100.0% of the top 3 of linear are also in bm25" in text
    printed = strict(succeeds(capsys, *arguments, "--json"))
    assert printed["consistency@3"] == {"linear": 1}
    assert sorted(each.name for each in runs.iterdir()) == ["bm25.run", "linear.run"]
    run, bundle = read_run(runs / "linear.run"), Bundle(built.fused)
    for query in built.collection.queries("test"):
        wanted = dict(bundle.rank_ids(query.text, pipeline="linear"))
        found = run.get(query.id, {})  # a query that finds nothing has no line
        assert list(found) == list(wanted)
        assert list(found.values()) == pytest.approx(list(wanted.values()), rel=1e-5)


@pytest.mark.slow
def test_eval_as_json(built: "Built", capsys: Capture) -> None:
    arguments = ("eval", built.fused, built.collection.path, "--json", "--measures", "RR@10,P@1")
    found = strict(succeeds(capsys, *arguments))
    assert found["baseline"] == "bm25"
    assert set(found["systems"]) == set(BundleFiles(built.fused).manifest.pipelines)
    assert set(found["p"]) == {"RR@10", "P@1"}
    for options in (("--max-queries", "1"), ("--max-queries", "2"), ("--pipelines", "rrf")):
        strict(succeeds(capsys, *arguments, *options))  # too few to test, or alike: no NaN
