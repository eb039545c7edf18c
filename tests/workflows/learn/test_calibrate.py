"""Judged queries teach a bundle how likely its hits answer a query."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.commands import main
from ranklet.corpus.collections.collection import Collection, Query, write_collection
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime import load
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.pipelines.relevance import SHIPPED, chances
from ranklet.workflows.build import build
from ranklet.workflows.learn.calibrate import (
    calibrate,
    cut_folds,
    gather_examples,
    refit,
    take_error,
)

QUERIES = 80


def texts() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {"id": f"d{n}", "text": " ".join(f"w{each}" for each in rng.integers(0, 60, 8))}
        for n in range(300)
    ]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(build(texts(), tmp_path_factory.mktemp("calibrate") / "a.ranklet", language="en"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries of five words of a document; half of them are answered by another document."""
    rng, documents = np.random.default_rng(1), texts()
    queries, qrels = [], {}
    for number in range(QUERIES):
        words = documents[number]["text"].split()
        asked = " ".join(rng.choice(words, 5 if number % 2 else 2, replace=False))
        queries.append(Query(f"q{number}", asked))
        qrels[f"q{number}"] = {f"d{number if number % 2 else 299 - number}": 1}
    folder = tmp_path_factory.mktemp("judged") / "judged"
    write_collection(folder, [], {"dev": (queries, qrels)})
    return folder


def test_what_is_learned_is_kept_and_used(bundle: Path, judged: Path, tmp_path: Path) -> None:
    found = calibrate(bundle, judged, tmp_path / "b.ranklet")
    assert found.calibration.queries == QUERIES
    assert found.before is not None
    assert found.after < found.before
    before, after = load(bundle), load(tmp_path / "b.ranklet")
    (own,) = after.manifest.relevance
    assert own == found.calibration
    assert own.rankers == ("bm25",)
    query = texts()[1]["text"]
    assert [hit.id for hit in before.rank(query)] == [hit.id for hit in after.rank(query)]
    assert (
        before.rank(query, relevance=True).answerable
        != after.rank(query, relevance=True).answerable
    )
    calibrate(after, judged, tmp_path / "c.ranklet")
    assert load(tmp_path / "c.ranklet").manifest.relevance == (own,)


def test_half_of_the_queries_have_no_answer(bundle: Path) -> None:
    opened, each = load(bundle), texts()
    answered = [JudgedQuery(f"q{n}", each[n]["text"], {f"d{n}": 1}) for n in range(30)]
    none = [JudgedQuery(f"n{n}", each[n]["text"], {}) for n in range(30, 90)]
    for queries, share in ((answered, 0.5), (answered + none[:10], 0.5), (answered + none, 1 / 3)):
        found = gather_examples(opened, queries)
        counted = np.bincount(found.query[found.best], found.weights[found.best])
        assert counted.tolist() == [1] * len(queries)
        right = (found.best & (found.relevant == 1)) @ found.weights
        assert right / len(queries) == pytest.approx(share)  # a whole text always finds itself


def test_queries_that_share_documents_are_in_one_fold() -> None:
    queries = [JudgedQuery(f"q{n}", "x", {f"d{n // 4}": 1} if n < 60 else {}) for n in range(90)]
    folds = cut_folds(queries)
    assert np.bincount(folds).max() - np.bincount(folds).min() <= 4
    assert all(len(set(folds[n : n + 4].tolist())) == 1 for n in range(0, 60, 4))
    with pytest.raises(InputError, match="share relevant documents"):
        cut_folds([JudgedQuery(f"q{n}", "x", {"d": 1}) for n in range(60)])


def test_the_error_is_true_of_other_queries_of_which_half_have_no_answer(bundle: Path) -> None:
    rng, each, opened = np.random.default_rng(5), texts(), load(bundle)
    queries = [
        JudgedQuery(f"q{n}", " ".join(rng.choice(one["text"].split(), 3)), {one["id"]: 1})
        for n, one in enumerate(each)
    ]
    found, kept = (
        refit(opened, queries[::3]),
        gather_examples(opened, queries[1::3] + queries[2::3]),
    )
    before, after = (
        take_error(kept, chances(kept.numbers, weights))
        for weights in (SHIPPED[("words",)], found.calibration.weights)
    )
    assert after < before
    assert found.after == pytest.approx(after, abs=0.04)
    assert found.before == pytest.approx(before, abs=0.03)


def test_queries_without_a_relevant_document_count(
    bundle: Path, judged: Path, tmp_path: Path
) -> None:
    collection, each = Collection(judged, documents=False), texts()
    none = [Query(f"n{n}", each[n]["text"]) for n in range(100)]
    zeros = {"none": (none, {query.id: {"d1": 0} for query in none})}
    given = (collection.queries("dev"), collection.qrels("dev"))
    write_collection(tmp_path / "more", [], {"dev": given} | zeros)
    fewer = calibrate(bundle, judged, tmp_path / "b.ranklet").calibration
    more = calibrate(bundle, tmp_path / "more", tmp_path / "c.ranklet").calibration
    assert more.queries == fewer.queries + 100
    likely = [
        load(tmp_path / name).rank(each[7]["text"], relevance=True).answerable or 0
        for name in ("b.ranklet", "c.ranklet")
    ]
    assert likely[1] < likely[0] / 2
    write_collection(tmp_path / "none", [], zeros)
    with pytest.raises(InputError, match="no query with a relevant document"):
        calibrate(bundle, tmp_path / "none", tmp_path / "d.ranklet")


def test_few_queries_are_refused(bundle: Path, judged: Path, tmp_path: Path) -> None:
    collection = Collection(judged, documents=False)
    queries = list(collection.queries("dev"))[:20]
    few = tmp_path / "few"
    qrels = {each.id: {"d1": 1} for each in queries}
    write_collection(few, [], {"dev": (queries, qrels)})
    with pytest.raises(InputError, match="judge 50 or more"):
        calibrate(bundle, few, tmp_path / "b.ranklet")
    assert not (tmp_path / "b.ranklet").exists()


def test_the_command(
    bundle: Path, judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "b.zip")
    assert main(["calibrate", str(bundle), str(judged), "-o", target]) == 0
    assert "80 judged queries; calibration error" in capsys.readouterr().out
    assert main(["rank", target, "w1 w2 w3", "--relevance"]) == 0
    assert "% likely)" in capsys.readouterr().out
