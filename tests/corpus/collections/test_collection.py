import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.runtime.ground.errors import CollectionError

DOCUMENTS = [Document("d1", "Cats", "Cats sleep."), Document("d2", "", "")]
TRAIN = ([Query("q1", "who sleeps?")], {"q1": {"d1": 1, "d2": 0}})


def jsonl(path: Path, *records: Any) -> Path:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_collection(tmp_path / "cats", DOCUMENTS, {"train": TRAIN})
    return tmp_path / "cats"


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


# ------------------------------------------------------------------------------------- reading


def test_a_collection_reads_back_what_was_written(folder: Path) -> None:
    collection = Collection(folder)
    assert list(collection.documents()) == DOCUMENTS
    assert collection.splits() == ("train",)
    assert (collection.queries("train"), collection.qrels("train")) == TRAIN
    assert files(folder) == ["corpus.jsonl", "qrels.train.txt", "queries.train.jsonl"]


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize(
    "qrels", ["qrels.dev.txt", "qrels.dev.tsv", "qrels/dev.tsv", "qrels/dev.txt"]
)
def test_every_place_of_qrels_is_found(tmp_path: Path, qrels: str, packed: str) -> None:
    jsonl(tmp_path / f"corpus.jsonl{packed}", {"id": 7, "title": None, "text": "t"})
    jsonl(tmp_path / f"queries.dev.jsonl{packed}", {"_id": "q1", "text": "t", "metadata": {}})
    path = tmp_path / (qrels + packed)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(b"q1\t7\t1\n") if packed else b"q1\t7\t1\n")
    collection = Collection(str(tmp_path))
    assert list(collection.documents()) == [Document("7", "", "t")]
    assert collection.splits() == ("dev",)
    assert collection.queries("dev") == [Query("q1", "t")]
    assert collection.qrels("dev") == {"q1": {"7": 1}}


def test_one_file_of_queries_is_shared_out_by_the_qrels(tmp_path: Path) -> None:
    jsonl(tmp_path / "corpus.jsonl", {"_id": "d1", "text": "t"})
    jsonl(tmp_path / "queries.jsonl", *({"_id": f"q{i}", "text": "t"} for i in range(4)))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq2\td1\t1\n")
    (tmp_path / "qrels" / "test.tsv").write_text("q3\td1\t1\nq1\td1\t1\n")
    collection = Collection(tmp_path)
    assert collection.splits() == ("dev", "test")
    assert [query.id for query in collection.queries("dev")] == ["q2"]
    assert [query.id for query in collection.queries("test")] == ["q1", "q3"]


def test_documents_are_read_one_by_one(folder: Path) -> None:
    with (folder / "corpus.jsonl").open("a") as file:
        file.write("not json\n")
    documents = Collection(folder).documents()
    assert [next(documents), next(documents)] == DOCUMENTS
    with pytest.raises(CollectionError, match=r"corpus\.jsonl:3: not JSON"):
        next(documents)


def test_what_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(CollectionError, match=r"nowhere is no folder"):
        Collection(folder / "nowhere")
    with pytest.raises(CollectionError, match=r"no split 'test'; there are train"):
        Collection(folder).queries("test")
    with pytest.raises(CollectionError, match=r"no split '\.\./x'"):
        Collection(folder).qrels("../x")
    (folder / "qrels.train.txt").unlink()
    with pytest.raises(CollectionError, match=r"looked for qrels\.train\.txt, .*qrels/train\.tsv"):
        Collection(folder).qrels("train")
    (folder / "queries.train.jsonl").unlink()
    with pytest.raises(CollectionError, match=r"no split 'train'; it has no queries"):
        Collection(folder).queries("train")
    (folder / "qrels.train.txt").touch()
    with pytest.raises(CollectionError, match=r"looked for queries\.train\.jsonl, .*queries\.json"):
        Collection(folder).queries("train")
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(CollectionError, match=r"looked for corpus\.jsonl, corpus\.jsonl\.gz"):
        Collection(folder)


GOOD = '{"_id": "a", "text": "t"}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"_id": "b", "text": ', r":2: not JSON \(.*\); expected an object"),
        ("[" * 100_000, r":2: not JSON"),
        ("[1]", r":2: of type list, expected an object"),
        ("null", r":2: missing or null, expected an object"),
        ('{"text": "t"}', r":2: the document id \(_id or id\) is missing or null"),
        ('{"_id": "", "text": "t"}', r":2: document id '', expected a text without"),
        ('{"_id": 1.5, "text": "t"}', r":2: the document id .* is of type float, expected a str"),
        ('{"_id": true, "text": "t"}', r":2: the document id .* is of type bool"),
        (r'{"_id": "b\n", "text": "t"}', r":2: document id 'b\\n', expected .* line breaks"),
        ('{"_id": "b"}', r":2: the text is missing or null, expected a string"),
        ('{"_id": "b", "text": ["t"]}', r":2: the text is of type list"),
        ('{"_id": "b", "text": "t", "title": 3}', r":2: the title is of type int"),
        ('{"_id": "a", "text": "t"}', r":2: document id 'a' occurs twice"),
        (r'{"_id": "b", "text": "\ud83d"}', r":2: .* a lone surrogate .* position 0"),
    ],
)
def test_bad_documents_name_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "corpus.jsonl").write_text(f"{GOOD}{line}\n")
    with pytest.raises(CollectionError, match=r"corpus\.jsonl" + message):
        list(Collection(tmp_path).documents())


# ------------------------------------------------------------------------------------- writing

texts = st.text(st.characters(codec="utf-8"))
GRADES = st.integers(-999_999_999, 999_999_999)
ids = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name.split() == [name])
splits = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9_-]{1,9}", fullmatch=True),
    st.tuples(
        st.lists(
            st.builds(Query, ids, texts.filter(lambda text: bool(text.strip()))),
            unique_by=lambda query: query.id,
        ),
        st.dictionaries(ids, st.dictionaries(ids, GRADES, min_size=1)),
    ),
    max_size=3,
)


OTHERS = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts, max_size=2)


@pytest.mark.slow
@settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    documents=st.lists(
        st.builds(Document, ids, texts, texts, OTHERS, st.just(()), st.just(""), st.none()),
        unique_by=lambda document: document.id,
    ),
    splits=splits,
)
def test_any_collection_reads_back_equal(
    tmp_path: Path,
    documents: list[Document],
    splits: dict[str, tuple[list[Query], dict[str, dict[str, int]]]],
) -> None:
    collection = write_collection(tmp_path / "c", iter(documents), splits, overwrite=True)
    assert list(collection.documents()) == documents
    assert collection.splits() == tuple(sorted(splits))
    for split, (queries, qrels) in splits.items():
        assert collection.queries(split) == queries
        assert collection.qrels(split) == qrels
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_collection_is_replaced_only_with_overwrite(folder: Path) -> None:
    with pytest.raises(CollectionError, match=r"already exists; pass overwrite=True"):
        write_collection(folder, [], {})
    assert list(Collection(folder).documents()) == DOCUMENTS
    write_collection(folder, DOCUMENTS[:1], {}, overwrite=True)
    assert list(Collection(folder).documents()) == DOCUMENTS[:1]
    assert files(folder.parent) == ["cats/corpus.jsonl"]


def test_a_folder_with_other_files_is_never_replaced(folder: Path) -> None:
    (folder / "report.md").write_text("years of work")
    with pytest.raises(CollectionError, match=r"would be lost: 'report\.md'"):
        write_collection(folder, DOCUMENTS[:1], {}, overwrite=True)
    assert "cats/report.md" in files(folder.parent)


@pytest.mark.parametrize(
    ("documents", "queries", "split", "message"),
    [
        ([*DOCUMENTS, DOCUMENTS[0]], [], "dev", r"document id 'd1' occurs twice"),
        ([Document("d\t1", "", "")], [], "dev", r"document id 'd\\t1', expected a text"),
        ([Document("d1", "\ud83d", "")], [], "dev", r"document 'd1': the title contains a lone"),
        (DOCUMENTS, [Query("q1", "a"), Query("q1", "b")], "dev", r"query id 'q1' occurs twice"),
        (DOCUMENTS, [Query("q1", " ")], "dev", r"the text of query 'q1' is empty"),
        (DOCUMENTS, [], "../dev", r"split '\.\./dev': use only letters"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(
    folder: Path, documents: list[Document], queries: list[Query], split: str, message: str
) -> None:
    with pytest.raises(CollectionError, match=message):
        write_collection(folder, documents, {split: (queries, {})}, overwrite=True)
    assert list(Collection(folder).documents()) == DOCUMENTS
    assert [path.name for path in folder.parent.iterdir()] == ["cats"]


def test_a_place_that_cannot_be_written_is_reported(folder: Path) -> None:
    with pytest.raises(
        CollectionError, match=r"cannot be written \((Not a directory|File exists)\)"
    ):
        write_collection(folder / "corpus.jsonl" / "c", DOCUMENTS, {})


def test_other_fields_are_metadata(tmp_path: Path) -> None:
    lines = [
        {"_id": "a", "text": "x", "year": 1, "metadata": {"url": "u", "year": 2}},
        {"_id": "b", "id": 7, "text": "y", "title": "t"},
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first, second = Collection(tmp_path).documents()
    assert first.metadata == {"url": "u", "year": 1}
    assert second.metadata == {"id": 7}
    (tmp_path / "corpus.jsonl").write_text(r'{"_id": "a", "text": "x", "k": ["\ud83d"]}')
    with pytest.raises(CollectionError, match=r"the k contains a lone surrogate"):
        list(Collection(tmp_path).documents())
