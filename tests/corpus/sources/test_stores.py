"""Documents and vectors of Chroma, LanceDB and FAISS, and files of vectors by id."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranklet.corpus.sources.source import Source
from ranklet.corpus.sources.vectors import GivenVectors
from ranklet.runtime.ground.errors import CollectionError, InputError, RankletError

COUNT, DIMENSION = 30, 4
ROWS = np.random.default_rng(0).normal(size=(COUNT, DIMENSION)).astype(np.float32)
IDS = [f"d{number}" for number in range(COUNT)]
TEXTS = [f"Knead the dough {number} times." for number in range(COUNT)]


def make_chroma(folder: Path) -> Path:
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(str(folder / "chroma"))
    for name in ("docs", "others"):
        held = client.create_collection(name, embedding_function=None)
        metadata = [{"year": 2000 + number} for number in range(COUNT)]
        held.add(ids=IDS, documents=TEXTS, embeddings=ROWS, metadatas=metadata)
    client.delete_collection("others")
    return folder / "chroma"


def make_lance(folder: Path) -> Path:
    lancedb = pytest.importorskip("lancedb")
    rows = zip(IDS, TEXTS, ROWS.tolist(), range(2000, 2000 + COUNT), strict=True)
    names = ("id", "text", "vector", "year")
    table = [dict(zip(names, row, strict=True)) for row in rows]
    lancedb.connect(folder / "lance").create_table("docs", table)
    return folder / "lance" / "docs.lance"


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_chroma, make_lance])
def test_a_store_has_documents_with_their_vectors(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = make(tmp_path)
    before = {each: each.read_bytes() for each in path.rglob("*") if each.is_file()}
    source = Source(str(path))
    source.vectors = GivenVectors("vector")
    found = sorted(source.documents(), key=lambda each: int(each.id[1:]))
    assert [each[:3] for each in found] == [(i, "", t) for i, t in zip(IDS, TEXTS, strict=True)]
    assert found[3].metadata == {"year": 2003}
    assert np.array_equal(np.array([each.vector for each in found]), ROWS)
    assert {each: each.read_bytes() for each in path.rglob("*") if each.is_file()} == before
    scheme, key = ("chroma", "collection") if make is make_chroma else ("lance", "table")
    folder = path if make is make_chroma else path.parent
    with pytest.raises(InputError, match="has 'docs'; name one of them"):
        list(Source(f"{scheme}:///{folder}?{key}=other").documents())


@pytest.mark.parametrize(
    "address",
    ["chroma:///nowhere", "lance:///nowhere", "chroma:///?collection=a", "lance:///a?b=c"],
)
def test_a_store_that_is_none_is_refused_in_one_line(address: str) -> None:
    for package in ("chromadb", "lancedb"):
        pytest.importorskip(package)
    with pytest.raises(RankletError) as error:
        list(Source(address).documents())
    assert "\n" not in str(error.value)


def read_vectors(file: Path, ids: list[str] = IDS) -> list[Any]:
    given = GivenVectors(str(file))
    return [given.read(number, id_, {}) for number, id_ in enumerate(ids)]


@pytest.mark.parametrize("ids", [False, True])
def test_a_flat_index_of_faiss_has_vectors(ids: bool, tmp_path: Path) -> None:
    faiss = pytest.importorskip("faiss")
    index, names = faiss.IndexFlatIP(DIMENSION), IDS
    if ids:
        index = faiss.IndexIDMap(index)
        index.add_with_ids(ROWS, np.arange(COUNT)[::-1])
        names = [str(number) for number in range(COUNT)][::-1]
    else:
        index.add(ROWS)
    faiss.write_index(index, str(tmp_path / "rows.faiss"))
    assert np.array_equal(read_vectors(tmp_path / "rows.faiss", names), ROWS)
    faiss.write_index(faiss.IndexPQ(DIMENSION, 2, 2), str(tmp_path / "rows.faiss"))
    with pytest.raises(InputError, match="only a flat index"):
        read_vectors(tmp_path / "rows.faiss")
    (tmp_path / "rows.faiss").write_bytes(b"damaged")
    with pytest.raises(InputError, match="cannot be read"):
        read_vectors(tmp_path / "rows.faiss")


@pytest.mark.parametrize("name", ["id", "_id", "doc_id"])
@pytest.mark.parametrize("column", ["vector", "embedding"])
def test_a_file_has_vectors_by_id(name: str, column: str, tmp_path: Path) -> None:
    lines = [
        json.dumps({name: id_, column: row}) for id_, row in zip(IDS, ROWS.tolist(), strict=True)
    ]
    file = tmp_path / "vectors.jsonl"
    file.write_text("\n".join(reversed(lines)))
    assert np.array_equal(read_vectors(file), ROWS)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"vector": [1]}', "has no column id"),
        ('{"id": "a", "one": [1], "other": [2]}', "none that is called 'vector'"),
        ('{"id": "a", "vector": "x"}', "'a' has no vector that can be used"),
        ("{", "vectors.jsonl:1"),
    ],
)
def test_a_file_without_vectors_is_refused(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.jsonl"
    file.write_text(line)
    with pytest.raises((InputError, CollectionError), match=message):
        GivenVectors(str(file))


@pytest.mark.parametrize("length", [0, 5, 60, 100, 140])
def test_a_damaged_array_is_refused_in_one_line(length: int, tmp_path: Path) -> None:
    file = tmp_path / "rows.npy"
    np.save(file, ROWS)
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(InputError, match="cannot be read") as error:
        GivenVectors(str(file))
    assert "\n" not in str(error.value)
