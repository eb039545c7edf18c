import json
import logging
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.corpus.sources.reading import CATS, DOGS, announced, read, refused, write

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.sources.cells import Bad, Cell, Record
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Objects, Source, Texts
from ranklet.runtime import InputError

ROWS = [CATS._asdict(), DOGS._asdict()]


def test_iterables_of_texts_and_of_objects_are_read() -> None:
    assert read(ROWS) == [CATS, DOGS]
    assert read(iter(ROWS)) == [CATS, DOGS]
    assert [each.text for each in read(text for text in ("one", "two"))] == ["one", "two"]


def test_ids_may_be_any_text_or_a_whole_number() -> None:
    ids = [7, 8.0, np.int64(9), "a/b c", "ü\n\0", " ", "0007", -1, 2**63 + 1, 10**400]
    documents = read([{"id": each, "text": "x"} for each in ids])
    large = [str(2**63 + 1), "1" + "0" * 400]
    wanted = ["7", "8", "9", "a/b c", "ü\n\0", " ", "0007", "-1", *large]
    assert [each.id for each in documents] == wanted


@pytest.mark.parametrize("name", [None, "", True, False, float("nan"), 1.5, [1], {"a": 1}])
def test_other_ids_are_reported(name: object) -> None:
    message = refused([{"id": "a", "text": "x"}, {"id": name, "text": "y"}])
    assert "1 document has no id: documents[1] (id is " in message
    assert "--id-column - to number the documents" in message


def test_generated_ids_count_all_rows_so_that_they_can_be_looked_up(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "title,text\nCats,They sleep.\n,\nDogs,They bark.\n", "utf-8")
    assert [each.id for each in read(path)] == ["1", "2"]
    assert [each.id for each in read(ROWS, id_column="-")] == ["1", "2"]


def test_ids_that_differ_only_by_type_are_duplicates() -> None:
    message = refused([{"id": 1, "text": "x"}, {"id": "1", "text": "y"}, {"id": 1.0, "text": "z"}])
    assert "2 ids occur twice: documents[1] ('1'), documents[2] ('1')" in message


def test_numbers_and_lists_of_texts_are_texts_and_other_values_are_reported() -> None:
    values = [3, 2.5, ["One.", "Two."], ("x",), None, float("nan"), np.float32("nan"), {"a": 1}]
    rows = [{"id": at, "text": value} for at, value in enumerate([*values, [["x"]]])]
    message = refused(rows, text_column="text")
    assert "3 documents have no text: documents[4] (text is ''), " in message
    assert (
        "documents[7] (text is an object and not a text), documents[8] (text is a list" in message
    )
    documents = read(rows, text_column="text", skip_bad=True)
    assert [each.text for each in documents] == ["3", "2.5", "One.\nTwo.", "x"]


def test_names_of_fields_need_not_be_texts() -> None:
    rows: list[Any] = [{1: "one two three", "id": "a"}]
    assert [each.text for each in read(rows)] == ["one two three"]


def test_a_dict_has_texts_or_objects_by_their_ids() -> None:
    given: dict[Any, Any] = {7: "one two", " a/ü": {"title": "T", "text": "three"}}
    assert read(given) == [Document("7", "", "one two"), Document(" a/ü", "T", "three")]
    assert "documents[0] (a list and not an object or a text)" in refused({"text": ["a", "b"]})


@pytest.mark.parametrize("texts", [b"x", 3, None, {"text": "one document"}])
def test_other_arguments_are_refused(texts: object) -> None:
    assert "documents must be a path or a list of texts, not" in refused(texts)  # type: ignore[arg-type]


def test_an_empty_path_is_not_the_current_folder_and_an_address_is_none() -> None:
    assert refused("").startswith("'' is no path; give a file or a folder on this machine")
    assert refused("https://example.org/a.csv?sig=secret").startswith("'https://example.org/a.csv")
    assert "secret" not in refused("https://example.org/a.csv?sig=secret")


def test_only_bad_documents_are_no_collection() -> None:
    rows = [{"id": "a", "text": ""}, {"id": "b", "text": " "}]
    assert refused(rows).startswith("2 of 2 documents of documents cannot be used:")
    assert refused(rows, skip_bad=True).startswith("no document of documents can be used:")
    assert refused([]) == "documents has no document"


def test_a_title_suffices() -> None:
    assert [each.title for each in read([{"id": "a", "title": "Cats", "text": ""}])] == ["Cats"]


def test_all_faults_are_counted_with_their_first_places(tmp_path: Path) -> None:
    lines = ["id,text", "1,one", "1,two", "2,", "3", *(f"{n}," for n in range(4, 2000))]
    path = write(tmp_path / "a.csv", "\n".join(lines))
    assert refused(path).splitlines() == [
        "1,999 of 2,000 documents of a.csv cannot be used:",
        f"  1 id occurs twice: {path}:3 ('1')",
        f"  1,997 documents have no text: {path}:4 (text is ''), {path}:6 (text is ''), "
        f"{path}:7 (text is ''), …",
        f"  1 record cannot be read: {path}:5 (1 field in a table of 2 columns)",
        "Correct them; pass another --id-column, or --id-column - to number the documents; or pass "
        "--skip-bad to leave them out",
    ]


def test_what_is_left_out_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "a.csv", "id,text\n1,one\n2,\n")
    with caplog.at_level(logging.WARNING):
        read(path, skip_bad=True)
    assert caplog.messages == [
        f"left out 1 document:\n  1 document has no text: {path}:3 (text is '')"
    ]


def test_long_documents_become_passages_that_share_the_id_and_the_title() -> None:
    rows = [{"id": "a", "title": "T", "text": "One two. Three four."}, {"id": "b", "text": "Five."}]
    parts = read(rows, passage_words=2, overlap_words=0)
    assert [each[:3] for each in parts] == [
        ("a", "T", "One two."),
        ("a", "T", "Three four."),
        ("b", "", "Five."),
    ]


def test_the_source_has_a_name_and_says_its_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "my texts.jsonl", '{"id": 1, "text": "x"}')
    assert Source(path).name == "my texts.jsonl"
    assert Source(["x"]).name == "documents"
    assert announced(path).startswith("my texts.jsonl: the text is 'text'")


def test_a_column_that_a_later_row_lacks_is_empty() -> None:
    rows = [{"id": 1, "text": "x"}, {"id": 2, "body": "y"}]
    assert "documents[1] (text is '')" in refused(rows)


def test_an_error_of_the_callers_own_iterator_passes_through() -> None:
    def rows() -> Iterator[str]:
        yield "one"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        list(Source(rows(), SourceOptions()).documents())


def test_other_columns_are_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,body,year,note\n007,some words here,2020,\n")
    (document,) = Source(path, SourceOptions()).documents()
    assert document.id == "007"
    assert document.metadata == {"year": "2020", "note": ""}
    assert all(isinstance(each, Cell) for each in document.metadata.values())
    (document,) = Source([{"text": "x", "a": 1, "metadata": {"a": 2, "b": None}}]).documents()
    assert document.metadata == {"a": 1, "b": None}
    (document,) = Source([{"text": "x", "": 1}]).documents()  # whose values are counted as lost
    assert document.metadata == {"": 1}


def test_metadata_can_be_chosen() -> None:
    rows = [{"text": "x", "a": 1, "b": 2}, {"text": "y", "b": 3, "metadata": {"c": 4}}]

    def kept(chosen: str) -> list[dict[str, object]]:
        options = SourceOptions(metadata=chosen)
        return [dict(each.metadata) for each in Source(rows, options).documents()]

    assert kept("all") == [{"a": 1, "b": 2}, {"b": 3, "c": 4}]
    assert kept("none") == [{}, {}]
    assert kept("c, a") == [{"a": 1}, {"c": 4}]
    with pytest.raises(InputError, match=r"no column 'd' \(--metadata\).*has 'a', 'b', 'c'"):
        kept("a,d")


def test_metadata_in_another_encoding_is_a_fault() -> None:
    for fields in ({"a": "\ud83d"}, {"a": ["b", "\ud83d"]}, {"\ud83d": 1}):
        assert "1 text has another encoding" in refused([{"text": "x", **fields}], metadata="all")


LATE = [{"id": f"d{n}", "text": f"note number {n}"} for n in range(150)]
LATE.append({"id": "last", "text": "something", "title": "Zeppelin", "year": "1900"})


def as_table(rows: list[dict[str, str]]) -> str:
    names = ("id", "title", "text", "year")
    return "\n".join([",".join(names), *(",".join(r.get(n, "") for n in names) for r in rows)])


def as_parquet(path: Path) -> Path:
    pq.write_table(
        pa.Table.from_pylist(LATE, pa.schema([(n, pa.string()) for n in LATE[-1]])), path
    )
    return path


def as_dataset(path: Path) -> Path:
    table = pa.Table.from_pylist(LATE, pa.schema([(n, pa.string()) for n in LATE[-1]]))
    path.mkdir()
    with pa.ipc.new_stream(str(path / "data.arrow"), table.schema) as stream:
        stream.write_table(table)
    write(path / "state.json", '{"_data_files": [{"filename": "data.arrow"}]}')
    return path


SCHEMA = pa.schema([(name, pa.string()) for name in LATE[-1]])


class Stream:
    """A table of an unknown library."""

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return pa.Table.from_pylist(LATE, SCHEMA).__arrow_c_stream__(schema)


FORMS: dict[str, Callable[[Path], Texts]] = {
    "a list": lambda _: LATE,
    "a generator": lambda _: (row for row in LATE),
    "a map": lambda _: map(dict, LATE),
    "pandas": lambda _: pd.DataFrame(LATE),
    "polars": lambda _: pl.DataFrame(LATE, infer_schema_length=None),
    "arrow": lambda _: pa.Table.from_pylist(LATE, SCHEMA),
    "a batch of arrow": lambda _: pa.RecordBatch.from_pylist(LATE, SCHEMA),
    "a stream of arrow": lambda _: pa.Table.from_pylist(LATE, SCHEMA).to_reader(),
    "what only gives arrow": lambda _: Stream(),
    "JSON Lines": lambda folder: write(folder / "a.jsonl", "\n".join(map(json.dumps, LATE))),
    "JSON": lambda folder: write(folder / "a.json", json.dumps(LATE)),
    "JSON by id": lambda folder: write(
        folder / "a.json",
        json.dumps({each["id"]: {k: each[k] for k in each if k != "id"} for each in LATE}),
    ),
    "CSV": lambda folder: write(folder / "a.csv", as_table(LATE)),
    "compressed": lambda folder: write(folder / "a.jsonl.zst", "\n".join(map(json.dumps, LATE))),
    "Parquet": lambda folder: as_parquet(folder / "a.parquet"),
    "a dataset": lambda folder: as_dataset(folder / "data"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_title_counts_if_any_record_has_it(tmp_path: Path, form: str) -> None:
    documents = list(Source(FORMS[form](tmp_path)).documents())
    assert [each.id for each in documents] == [row["id"] for row in LATE]
    assert [each.title for each in documents] == [""] * 150 + ["Zeppelin"]
    assert documents[-1].metadata == {"year": "1900"}
    (tmp_path / "again").mkdir()
    assert read(FORMS[form](tmp_path / "again"), title_column="title")[-1].title == "Zeppelin"


def test_an_id_that_begins_late_is_reported() -> None:
    rows = [{"text": "some words"}] * 150 + [{"text": "other words", "id": "a"}]
    assert "150 documents have no id: documents[0] (id is None)" in refused(rows)


def test_a_source_can_be_read_again() -> None:
    source = Source(row for row in LATE)
    assert list(source.documents()) == list(source.documents())


@pytest.mark.slow
def test_it_is_known_how_much_was_read(tmp_path: Path) -> None:
    draw = random.Random(1).random
    rows = "\n".join(json.dumps({"text": f"word {draw()} " * 9}) for n in range(20_000))
    for path in (write(tmp_path / "a.jsonl", rows), write(tmp_path / "b.jsonl.gz", rows)):
        documents = Source(path).documents()
        shares = [documents.share() or 0 for _ in documents]
        assert shares == sorted(shares)
        assert 0 < shares[0] < 0.5 < shares[-1] == 1
    documents = Source(LATE).documents()
    assert [documents.share() for _ in documents][-1] == 1


def test_columns_of_the_metadata_can_be_named_and_are_not_guessed() -> None:
    rows = [
        {"page_content": "some words", "metadata": {"id": 1, "title": "Cats", "summary": "a b c d"}}
    ]
    assert announced(rows) == (
        "documents: the text is 'page_content', there is no title, ids are numbered; not searched: "
        "'title', 'summary' (to include, pass --text-column 'page_content,title,summary')"
    )
    assert [each.title for each in read(rows, title_column="title")] == ["Cats"]


def test_texts_of_other_types_are_texts_and_missing_ones_are_faults() -> None:
    found = records([b"a", np.str_("b"), pd.NA, 7])
    assert [type(each) for each in found] == [Record, Record, Bad, Bad]


def records(texts: Any) -> list[Record | Bad]:
    given = Objects(texts)
    return list(given.records(given.position()))
