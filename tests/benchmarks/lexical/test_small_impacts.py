"""The benchmark ranks by the impacts that a bundle would store."""

from pathlib import Path

import numpy as np
from benchmarks.harness.place import Place
from benchmarks.lexical import small_impacts as module
from benchmarks.lexical.normalisers import Tried

from ranklet.training.data.collection import Document, Query, write_collection
from ranklet.training.data.splits import read_split
from ranklet.training.indexing.analysed import analyse

DOCUMENTS = [
    Document(f"d{at}", "", f"bread {'dough ' * (at % 3)} water{at % 5} oven{at % 7}")
    for at in range(40)
]
QUERIES = [Query(f"q{at}", f"bread dough oven{at}") for at in range(6)]


def test_a_row_per_type_compares_quality_and_time(tmp_path: Path) -> None:
    relevant = {query.id: {f"d{at}": 1} for at, query in enumerate(QUERIES)}
    write_collection(tmp_path / "c", DOCUMENTS, {"dev": (QUERIES, relevant)})
    rows = module._rows(Place(tmp_path, tmp_path), Tried("c", "dev"))
    assert [row[1] for row in rows] == ["`float32`", "`float16`", "`uint8`"]
    assert [row[-1] for row in rows] == ["8", "6", "5"]
    assert rows[0][3] == ""
    assert rows[0][4] == "100.00%"
    assert all(0 <= float(row[2].strip("†‡")) <= 1 for row in rows)


def test_fewer_bits_rank_as_the_rounded_impacts_do(tmp_path: Path) -> None:
    relevant = {query.id: {"d1": 1} for query in QUERIES}
    collection = write_collection(tmp_path / "c", DOCUMENTS, {"dev": (QUERIES, relevant)})
    analysed = analyse(collection.documents(), ["lemmas"])
    queries = module.asked(analysed, read_split(collection, "dev"))
    indexes = module.stored(analysed)
    for query in queries:
        exact = indexes["float32"].matrix(query.terms, np.arange(40, dtype=np.uint32))
        expected = query.counts @ indexes["uint8"].rounded(exact)
        numbers, scores = indexes["uint8"].retrieve(query.terms, query.counts, 40)
        assert np.allclose(scores, expected[numbers], rtol=1e-5)
