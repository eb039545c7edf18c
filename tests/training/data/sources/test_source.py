import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.data.sources.reading import CATS, DOGS, announced, read, refused, write

from ranklet.runtime import InputError
from ranklet.training.data.cells import Cell
from ranklet.training.data.sources.options import SourceOptions
from ranklet.training.data.sources.source import Source

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


@pytest.mark.parametrize("texts", [b"x", 3, None, {"a": "b"}])
def test_other_arguments_are_refused(texts: object) -> None:
    assert "documents must be a path or a list of texts, not" in refused(texts)  # type: ignore[arg-type]


def test_a_data_frame_is_refused_because_its_iterator_yields_columns() -> None:
    class Frame:
        columns = ("id", "text")

        def __iter__(self) -> Iterator[str]:
            yield from self.columns

    assert "pass its rows, as frame.to_dict('records')" in refused(Frame())


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
