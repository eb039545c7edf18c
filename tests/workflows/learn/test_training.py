"""A table replaces a network that may not read queries, and what it gains is over the words."""

from pathlib import Path

import pytest
from tests.kinds import TinyRankers
from tests.query_tables import MINUTES, rankers_with_network

from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.index import index_bundle
from ranklet.runtime import load
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.workflows.learn.choosing import DEFAULT, find_base
from ranklet.workflows.learn.limits import Budget
from ranklet.workflows.learn.options import LearnOptions
from ranklet.workflows.learn.parts import Parts
from ranklet.workflows.learn.training import with_tables
from ranklet.workflows.learn.work import keep_work
from ranklet.workflows.tables import learning

pytestmark = pytest.mark.slow  # a tiny network is indexed, and a table learns from it
NO_NETWORK = LearnOptions(network=False, minutes=100 * MINUTES)


def test_a_network_that_may_not_read_queries_gets_a_table(
    tiny: TinyRankers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "LEAST", 400)
    index_bundle(rankers_with_network(tiny), tiny.data.collection, tmp_path / "b")
    files, bundle = BundleFiles(tmp_path / "b"), load(tmp_path / "b")
    queries = read_split(tiny.data.collection, "train")
    parts = Parts(queries, queries, queries, queries, frozenset())
    with keep_work(tmp_path / "out", "") as work:
        both = files, parts
        assert with_tables(*both, LearnOptions(), work, Budget(1)) is files
        made = with_tables(*both, NO_NETWORK, work, Budget(1))
        assert open_ranker(made, "dense").provider == ""
        assert made.manifest.documents == files.manifest.documents
        assert with_tables(made, parts, NO_NETWORK, work, Budget(1)) is made
        assert find_base(load(made.path), NO_NETWORK) == (DEFAULT, None)
    assert find_base(bundle, LearnOptions()) == (DEFAULT, None)
    name, pipeline = find_base(bundle, NO_NETWORK)
    assert pipeline == bundle.manifest.pipelines["bm25"]
    assert name == "bm25 of the input, without its network"
