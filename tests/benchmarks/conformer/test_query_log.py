"""The benchmark of a query log, on a miniature."""

import shutil
from pathlib import Path

import pytest

from ranklet.training.data.collection import Collection


@pytest.mark.slow
def test_a_log_shares_no_query_with_what_is_reported(
    tiny_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gensim")
    place = pytest.importorskip("benchmarks.harness.place")
    query_log = pytest.importorskip("benchmarks.conformer.query_log")
    exporting = pytest.importorskip("ranklet.export.rankers.conformer_kernel.exporting")
    monkeypatch.setattr(exporting, "PROBES", (5, 16))
    # The miniature has too few queries to cut.
    parts = {"learn": "train", "tuning": "dev", "report": "dev"}
    monkeypatch.setattr(query_log, "PARTS", parts)
    (tmp_path / "data").mkdir()
    shutil.copytree(tiny_collection.path, tmp_path / "data" / "tiny")
    here = place.Place(tmp_path / "data", tmp_path / "work")
    sizes = query_log.Sizes(
        steps=2, queries=30, network=query_log.Network(hidden=16, heads=4, groups=4)
    )
    page = query_log.run(here, "tiny", sizes)
    for log in (query_log.WITHOUT, query_log.WITH):
        for label in query_log._recipes(log):
            assert f"| {label} |" in page
    cut = Collection(here.work / "tiny.cut")
    logged = {query.id for query in cut.queries("log")}
    assert logged
    assert logged.isdisjoint(query.id for part in parts for query in cut.queries(part))
    texts = {each.id: each.text for each in Collection(here.work / "tiny.with-log").documents()}
    before = {each.id: each.text for each in cut.documents()}
    assert texts != before
    assert all(text.startswith(before[name]) for name, text in texts.items())
