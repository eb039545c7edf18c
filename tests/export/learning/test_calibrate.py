"""Judged queries teach a bundle how likely its hits answer a query."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.commands import main
from ranklet.corpus.collections.collection import Collection, Query, write_collection
from ranklet.export.build import build
from ranklet.export.learning.calibrate import calibrate
from ranklet.runtime import load
from ranklet.runtime.errors import InputError

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
