from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest
from tests.commands.running import Capture, fails, strict, succeeds
from tests.damage import change_manifest

from ranklet.commands import main
from ranklet.corpus.collections.collection import write_collection
from ranklet.corpus.collections.trec import read_run, write_run
from ranklet.runtime import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import BundleError

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
    assert printed["judgements"]["missing"] == 0
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
    manifest = BundleFiles(built.fused).manifest
    assert set(found["systems"]) == {*manifest.pipelines, *manifest.rankers}
    assert set(found["p"]) == {"RR@10", "P@1"}
    for options in (("--max-queries", "1"), ("--max-queries", "2"), ("--pipelines", "rrf")):
        strict(succeeds(capsys, *arguments, *options))  # too few to test, or alike: no NaN


@pytest.mark.parametrize("split", ["test", "train"])
def test_judged_documents_that_the_bundle_lacks_are_counted(
    split: str, built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    kept = built.collection
    queries, qrels = kept.queries("test"), kept.qrels("test")
    first = queries[0].id
    more = {**qrels, first: {**qrels[first], "gone": 1}}
    collection = write_collection(tmp_path / "more", kept.documents(), {split: (queries, more)})
    (collection.path / "corpus.jsonl").unlink()  # the bundle has the documents
    arguments = ["eval", str(built.fused), str(collection.path), "--pipelines", "bm25"]
    arguments += ["--split", split]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err.count("warning") == 1
    assert f"the first is 'gone', judged for query '{first}'" in captured.err
    assert "relevant documents that cannot be found, and so are missed: 1" in captured.out
    assert "have a relevant document" not in captured.out  # there is no split to compare with
    assert main([*arguments, "--json"]) == 0
    assert strict(capsys.readouterr().out)["judgements"]["missing_relevant"] == 1


def test_an_error_while_ranking_leaves_no_run(
    built: "Built", tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[str] = []
    rank = Bundle.rank_ids

    def broken(self: Bundle, query: str, **options: Any) -> list[tuple[str, float]]:
        ranked.append(query)
        if len(ranked) > 5:
            raise BundleError("damaged")
        return rank(self, query, **options)

    monkeypatch.setattr(Bundle, "rank_ids", broken)
    arguments = ("eval", built.fused, built.collection.path, "--runs", tmp_path / "runs")
    assert "damaged" in fails(capsys, *arguments)
    assert len(ranked) == 6
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_of_before_is_the_baseline_and_a_loss_fails(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    begin = ("eval", built.fused, built.collection.path, "--measures", "MRR@10,nDCG@10")
    one = (*begin, "--pipelines", "bm25")
    succeeds(capsys, *one, "--runs", tmp_path)
    before = (*one, "--baseline", tmp_path / "bm25.run", "--fail-if", "nDCG@10 < -0.01")
    text = succeeds(capsys, *before)  # nothing has changed
    assert [line.split()[0] for line in text.splitlines()[1:3]] == ["bm25.run", "bm25"]
    assert "lost" not in text
    ideal = {name: [(next(iter(of)), 1.0)] for name, of in built.collection.qrels("test").items()}
    write_run(tmp_path / "ideal.run", ideal, "ideal")
    arguments = ["eval", str(built.fused), str(built.collection.path), "--pipelines", "bm25"]
    arguments += ["--baseline", str(tmp_path / "ideal.run"), "--fail-if", "MRR@10<-.001"]
    assert main(arguments) == 3
    printed = capsys.readouterr().out
    assert "bm25 lost MRR@10 1.000 → " in printed
    assert "failed: MRR@10<-.001 holds for bm25 next to ideal.run" in printed
    assert main([*arguments, "--json"]) == 3
    found = strict(capsys.readouterr().out)
    assert found["failed"] == ["bm25"]
    assert found["baseline"] == "ideal.run"
    assert all(value < 0 for value in found["differences"]["bm25"]["MRR@10"].values())


def test_what_a_measure_or_a_baseline_lacks_is_warned_of(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    one = ("eval", built.fused, built.collection.path, "--pipelines", "bm25")
    succeeds(capsys, *one, "--runs", tmp_path)
    lines = (tmp_path / "bm25.run").read_text().splitlines(keepends=True)
    first = lines[0].split()[0]
    part = [line for line in lines if not line.startswith(f"{first} ")]
    (tmp_path / "part.run").write_text("".join(part))
    arguments = [*one, "--baseline", tmp_path / "part.run", "--depth", "50"]
    assert main(list(map(str, arguments))) == 0
    said = capsys.readouterr().err
    assert f"found nothing for them; the first is {first!r}" in said
    assert "R@100 reads more documents than --depth 50 ranks" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--fail-if", "MRR@10 < 0"], "give --baseline RUN, too"),
        (["--baseline", "{run}", "--fail-if", "MRR@10 <= 0"], "give one of the measures MRR@10"),
        (["--baseline", "{run}", "--fail-if", "AP < 0"], "give one of the measures MRR@10"),
        (["--baseline", "{run}", "--fail-if", "MRR@10 < nan"], "give one of the measures MRR@10"),
        (["--baseline", "{run}"], "has none of the"),
        (["--baseline", "absent.run"], "absent.run"),
    ],
)
def test_a_baseline_that_cannot_be_compared_is_explained(
    more: list[str], said: str, built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    write_run(tmp_path / "it.run", {"unasked": [("d", 1.0)]}, "it")
    given = [each.format(run=tmp_path / "it.run") for each in more]
    assert said in fails(capsys, "eval", built.fused, built.collection.path, *given)


def test_a_ranker_without_a_pipeline_is_measured_and_named(
    built: "Built", tmp_path: Path, capsys: Capture
) -> None:
    def weak(manifest: dict[str, Any]) -> None:
        manifest["pipelines"] = {
            "bm25": [{"stage": "retrieve", "ranker": "bm25", "k": 100}],
            "sum": [
                {"stage": "retrieve", "ranker": "bm25", "k": 100},
                {"stage": "fuse", "method": "linear", "inputs": ["bm25"], "weights": [0.0]},
            ],
        }
        manifest["default_pipeline"] = "sum"

    bundle = Path(copytree(built.fused, tmp_path / "weak"))
    change_manifest(bundle, weak)
    others = [name for name in Bundle(bundle).manifest.rankers if name != "bm25"]
    text = succeeds(capsys, "eval", bundle, built.collection.path)
    rows = [line.split()[0] for line in text.splitlines()]
    assert rows[1:3] == ["bm25", "sum"]
    assert {*others} <= {*rows}
    assert f"in the bundle but in no pipeline: {', '.join(others)}; " in text
    assert "bm25 alone is better than sum (MRR@10 " in text
