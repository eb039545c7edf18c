from pathlib import Path

import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection, Document, write_collection
from ranklet.corpus.collections.splits import JudgedQuery, read_split
from ranklet.corpus.indexing.analysed import AnalysedCollection, open_bm25
from ranklet.corpus.tuning.judged_candidates import grades
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.rankers.bm25.options import Options
from ranklet.training.rankers.bm25.training import train


def reciprocal_rank(
    analysed: AnalysedCollection, queries: list[JudgedQuery], settings: BM25Settings
) -> float:
    from ranklet.runtime.call.query import QueryContext

    ranker, total = open_bm25(settings, analysed.postings(settings.field)), 0.0
    for query in queries:
        numbers = ranker.retrieve(QueryContext(query.text, analysed.analyzer.begin()), 10).numbers
        hit, _ = grades(analysed, query, numbers)
        places = np.flatnonzero(hit)
        total += 1 / (1 + places[0]) if len(places) else 0
    return total / len(queries)


@pytest.mark.parametrize("field", ["lemmas", "words", "wordpieces"])
def test_the_best_point_of_the_grid_is_taken(
    collection: Collection, analysed: AnalysedCollection, tokenizer_file: Path, field: str
) -> None:
    queries = read_split(collection, "test")
    tokenizer = tokenizer_file if field == "wordpieces" else None
    options = Options(field=field, tokenizer=tokenizer, k1_grid=(0.1, 1.2, 3.0), b_grid=(0.0, 0.9))
    found = train(collection, queries, [], options)
    grid = {(p["k1"], p["b"]): p["value"] for p in found.training["grid"]}
    assert set(grid) == {(k1, b) for k1 in (0.1, 1.2, 3.0) for b in (0.0, 0.9)}
    for (k1, b), value in grid.items():
        wanted = reciprocal_rank(analysed, queries, BM25Settings(field, k1, b))
        assert value == pytest.approx(wanted, abs=1e-9)
    assert isinstance(found.settings, BM25Settings)
    assert grid[found.settings.k1, found.settings.b] == found.training["best"] == max(grid.values())
    assert (found.tokenizer is not None) == (field == "wordpieces")
    assert found.training["queries"] == len(queries)


def test_queries_that_find_nothing_count_as_missed(collection: Collection) -> None:
    queries = [JudgedQuery("1", "gnorp", {"tea": 1}), JudgedQuery("2", "knead dough", {"bread": 1})]
    options = Options(k1_grid=(0.9,))
    assert train(collection, queries, [], options).training["best"] == 0.5
    assert train(collection, queries[:1], [], options).training["best"] == 0


def test_wrong_values_are_refused() -> None:
    with pytest.raises(InputError, match="unknown measure"):
        Options(measure="accuracy")
    with pytest.raises(InputError, match=r"k1 is -1; it must be a number from 0 to 100"):
        Options(k1_grid=(-1,))
    with pytest.raises(InputError, match="b is 2"):
        Options(b_grid=(2,))
    with pytest.raises(InputError, match="field is 'stems'; allowed are lemmas, words, wordpieces"):
        Options(field="stems")
    with pytest.raises(InputError, match="wordpieces need --tokenizer"):
        Options(field="wordpieces")


def test_weights_of_fields_are_tuned(tmp_path: Path) -> None:
    documents = [
        Document(f"{name}{at}", "", text, {"author": name})
        for name, other in (("gnorp", "blick"), ("blick", "gnorp"))
        for at, text in enumerate((f"{other} {other} zorf", "zorf vresh tamble", f"{other} zorf"))
    ]
    collection = write_collection(tmp_path / "made", documents, {})
    queries = [
        JudgedQuery(name, name, dict.fromkeys((f"{name}{at}" for at in range(3)), 1))
        for name in ("gnorp", "blick")
    ]
    options = Options(fields={"author": 0.25}, k1_grid=(0.9,), b_grid=(0.4,), measure="nDCG@3")
    found = train(collection, queries, [], options)
    assert isinstance(found.settings, BM25Settings)
    assert found.settings.fields is not None
    assert found.settings.fields["author"] > 1
    assert found.training["best"] == 1 > found.training["grid"][0]["value"]
    assert found.training["fields"] == found.settings.fields
