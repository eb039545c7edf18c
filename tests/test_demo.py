"""The end-to-end test: the demo, on the documentation of the Python that runs it."""

from pathlib import Path

import pytest

from ranklet import runtime
from ranklet.commands import main
from ranklet.training.collection import Collection
from ranklet.training.evaluation import evaluate
from ranklet.training.splits import read_split


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "-o", str(folder)]) == 0
    return folder


@pytest.mark.slow
def test_model_1_improves_on_plain_bm25_where_nothing_was_trained(demo: Path) -> None:
    queries = read_split(Collection(demo / "judged"), "test")
    (plain,) = evaluate(runtime.load(demo / "plain.ranklet"), queries, {"plain": "plain"})
    (fused,) = evaluate(runtime.load(demo / "fused.ranklet"), queries, {"fused": "bm25-model1"})
    assert len(queries) > 300
    assert plain.mean("nDCG@10") > 0.35  # .46 on Python 3.11
    assert fused.mean("nDCG@10") > plain.mean("nDCG@10")


@pytest.mark.slow
def test_the_demo_answers_and_explains(demo: Path) -> None:
    bundle = runtime.load(demo / "python-docs.ranklet")
    assert len(bundle) > 4000
    hits = bundle.rank("remove any common leading whitespace from every line", explain=True)
    assert hits[0].id == "textwrap.dedent"
    explained = hits[0].explanation
    assert explained is not None
    assert explained.value == pytest.approx(hits[0].score, abs=1e-5)
    ids = [hit.id for hit in bundle.rank("least recently used cache", k=5)]
    assert "functools.lru_cache" in ids


@pytest.mark.slow
def test_the_demo_can_run_again_in_the_same_folder(demo: Path) -> None:
    assert main(["verify", str(demo / "python-docs.ranklet")]) == 0
    assert main(["rank", str(demo / "python-docs.ranklet"), "parse json", "-k", "1"]) == 0
