from pathlib import Path

import ir_measures
import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.collections.trec import read_qrels, read_run, write_qrels
from ranklet.corpus.evaluation.run_files import check_run_files, run_files
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import CollectionError, InputError

PIPELINES = {name: name for name in ("bm25", "linear", "bm25_pieces")}
MEASURES = ("MRR@10", "nDCG@10", "R@100", "AP")


def test_means_are_those_of_ir_measures_on_the_written_runs(
    bundle: Bundle, collection: Collection, tmp_path: Path
) -> None:
    queries = read_split(collection, "test")
    with run_files(tmp_path) as watcher:
        found = evaluate(bundle, queries, PIPELINES, measures=MEASURES, watchers=[watcher])
        assert all(path.name.endswith(".partial") for path in tmp_path.iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.run" for name in PIPELINES}
    write_qrels(tmp_path / "qrels.txt", {each.id: each.relevant for each in queries})
    qrels = read_qrels(tmp_path / "qrels.txt")
    wanted = {name: ir_measures.parse_measure(name.replace("MRR", "RR")) for name in MEASURES}
    for each in found:
        run = read_run(tmp_path / f"{each.pipeline}.run")
        total = ir_measures.calc_aggregate(set(wanted.values()), qrels, run)
        for name, measure in wanted.items():
            assert each.mean(name) == pytest.approx(total[measure], abs=1e-9)


@pytest.mark.parametrize(
    ("document", "error"), [("b", KeyboardInterrupt), ("b c", CollectionError)]
)
def test_after_an_error_nothing_is_left_and_older_runs_stay(
    tmp_path: Path, document: str, error: type[BaseException]
) -> None:
    def write_and_fail() -> None:
        with run_files(tmp_path) as watcher:
            watcher("q1", {"x": [("a", 2.0)], "y": [("a", 2.0)]})
            watcher("q2", {"x": [("a", 2.0)], "y": [(document, 2.0)]})
            raise KeyboardInterrupt

    (tmp_path / "x.run").write_text("older")
    with pytest.raises(error):
        write_and_fail()
    assert [path.name for path in tmp_path.iterdir()] == ["x.run"]
    assert (tmp_path / "x.run").read_text() == "older"


def test_only_runs_of_ranklet_are_replaced(tmp_path: Path) -> None:
    with run_files(tmp_path) as watcher:
        watcher("q1", {"bm25": [("a", 0.5)], "empty": []})
    check_run_files(tmp_path, ["bm25", "empty", "new"])
    for line in ("q1 Q0 a 1 0.5 mine\n", "notes\n"):
        (tmp_path / "bm25.run").write_text(line, "utf-8")
        with pytest.raises(InputError, match="is no run of ranklet's; give another folder"):
            check_run_files(tmp_path, ["bm25"])
