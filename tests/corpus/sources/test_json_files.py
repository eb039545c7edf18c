import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus.sources.reading import CATS, DOGS, read, refused, write

from ranklet.corpus.sources import json_files
from ranklet.runtime import CollectionError

LINES = "\n".join(json.dumps(each._asdict()) for each in (CATS, DOGS))


def test_json_lines_are_objects_or_texts(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.jsonl", LINES + "\n\n")) == [CATS, DOGS]
    path = write(tmp_path / "b.ndjson", '"Cats sleep."\n"Dogs bark."\n')
    assert [(each.id, each.text) for each in read(path)] == [
        ("1", "Cats sleep."),
        ("2", "Dogs bark."),
    ]


@pytest.mark.parametrize(
    "content",
    [
        [CATS._asdict(), DOGS._asdict()],
        {"version": 1, "data": [CATS._asdict(), DOGS._asdict()]},
        {each.id: {"title": each.title, "text": each.text} for each in (CATS, DOGS)},
    ],
)
def test_json_is_a_list_or_an_object_with_one_or_documents_by_id(
    content: object, tmp_path: Path
) -> None:
    assert read(write(tmp_path / "a.json", json.dumps(content))) == [CATS, DOGS]


def test_texts_by_id_may_have_any_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", json.dumps({"a b/ü\0": "Cats", "": "none", "c": "Dogs"}))
    assert [(each.id, each.text) for each in read(path, skip_bad=True)] == [
        ("a b/ü\0", "Cats"),
        ("c", "Dogs"),
    ]


def test_json_may_be_one_document(tmp_path: Path) -> None:
    for number, document in enumerate((CATS, DOGS)):
        content = {"title": document.title, "text": document.text, "tags": ["a", "b"]}
        write(tmp_path / f"{number}.json", json.dumps(content))
    assert read(tmp_path) == [CATS, DOGS]
    assert [each.text for each in read(tmp_path / "1.json")] == [DOGS.text]


def test_a_key_that_stands_twice_is_reported(tmp_path: Path) -> None:
    doubled = '{"text": "a", "text": "b"}'
    path = write(tmp_path / "a.jsonl", f"{LINES}\n{doubled}\n")
    assert f"{path}:3 (not JSON: the key 'text' stands twice" in refused(path)
    assert read(path, skip_bad=True) == [CATS, DOGS]
    for content in (f"[{doubled}]", '{"a": {"text": "b"}, "a": {"text": "c"}}'):
        assert "stands twice in an object" in refused(write(tmp_path / "a.json", content))


def test_broken_lines_are_reported_with_their_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "cut\n' + LINES + "\n[1]\nnull\n3\n")
    message = refused(path)
    assert "4 of 6 documents of a.jsonl cannot be used" in message
    assert f"{path}:1 (not JSON: Invalid control character" in message
    assert f"{path}:4 (a list and not an object or a text)" in message
    assert f"{path}:5 (null and not an object or a text)" in message
    assert "--skip-bad" in message
    assert read(path, skip_bad=True) == [CATS, DOGS]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "id,text\n1,one\n", "if it is a table, pass --format csv"),
        ("a.jsonl", '{\n "text": "a"\n}\n', "pass --format json"),
        ("a.jsonl", "[1, 2]", "pass --format json"),
        ("a.jsonl", '[\n{"text": "a"},\n{"text": "b"}\n]\n', "pass --format json"),
        ("a.jsonl", "", "has no document"),
        ("a.json", "", "is empty"),
        ("a.json", LINES, "if each line is one document, pass --format jsonl"),
        ("a.json", "3", "is a number; it must be a list of documents"),
        ("a.json", "[" * 100_000, "is not JSON"),
        ("a.json", '{"id": {"2": "a"}, "text": {"2": "c"}}', 'orient="records"'),
        ("a.json", '{"columns": ["text"], "index": [0], "data": [["a"]]}', 'orient="records"'),
        ("a.json", "[]", "has no document"),
        ("a.json", "[3, null]", "item 1 (a number and not an object or a text)"),
        ("a.json", '{"a": 3}', "item 'a' (a number and not an object or a text)"),
    ],
)
def test_other_contents_are_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    assert message in refused(write(tmp_path / name, content))


def test_a_wrong_encoding_is_named_with_the_byte_and_its_place(tmp_path: Path) -> None:
    content = '{"text": "one"}\n{"text": "Caf\u00e9"}\n'
    path = write(tmp_path / "a.jsonl", content, "latin-1")
    assert f'1 text has another encoding: {path}:2 (byte 0xe9 after \'{{"text": "Caf\')' in (
        refused(path)
    )
    assert "pass --encoding" in refused(path)
    assert [each.text for each in read(path, encoding="latin-1")] == ["one", "Café"]
    path = write(tmp_path / "a.json", '["Caf\u00e9"]', "latin-1")
    assert "is not utf-8 (byte 0xe9 after" in refused(path)


def test_half_a_character_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "one"}\n{"text": "a \\ud83d"}\n')
    assert f"{path}:2 (text: half a character after 'a ')" in refused(path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=40)
@given(values=st.lists(VALUES, max_size=4))
def test_any_json_is_read_or_refused(
    values: list[object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("json")
    lines = "\n".join(map(json.dumps, values))
    for path in (write(folder / "a.jsonl", lines), write(folder / "a.json", json.dumps(values))):
        for skip_bad in (False, True):
            try:
                documents = read(path, skip_bad=skip_bad)
            except Exception as error:  # compared by its message
                assert "a.json" in str(error)  # noqa: PT017
            else:
                assert documents


@pytest.mark.slow
@settings(max_examples=200)
@given(
    value=st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
        ),
        max_size=4,
    ),
    piece=st.integers(1, 60), cut=st.integers(0, 60),
    added=st.sampled_from(["", "]", ",", "1", '"', "[", "x"]),
)  # fmt: skip
def test_a_list_is_read_in_pieces_as_it_is_at_once(
    value: list[Any], piece: int, cut: int, added: str
) -> None:
    text = json.dumps(value, indent=1)
    text = text[:cut] + added + text[cut:] if cut < len(text) and cut else text
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_files, "_PIECE", piece)
        try:
            found = list(json_files._Items(Path("a.json"), io.StringIO(text[1:]), "utf-8"))
        except CollectionError:
            found = None
    assert found == expected


def test_a_fault_in_a_list_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '[{"text": "one"},\n{"text": two}]')
    assert "a.json is not JSON (Expecting value: line 2); if each line" in refused(path)
