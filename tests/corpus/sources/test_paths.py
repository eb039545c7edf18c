import json
from pathlib import Path

import pytest
from tests.corpus.sources.reading import CATS, DOGS, read, refused, write

from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.paths import list_source_files
from ranklet.runtime import load
from ranklet.workflows.build import build


def test_the_format_follows_the_name_unless_it_is_named(tmp_path: Path) -> None:
    line = json.dumps(CATS._asdict())
    assert read(write(tmp_path / "a.JSONL", line)) == [CATS]
    assert read(write(tmp_path / "texts", line), format="jsonl") == [CATS]
    assert read(write(tmp_path / "b.csv", line), format="jsonl") == [CATS]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.zip", "unpack it and give the folder"),
        ("a.csv.bz2", "compress it as .gz or .zst"),
        ("a.odt", "save it as .docx, .pptx or .pdf"),
        ("a", "files without an ending are not read; pass --format with one of csv, json, jsonl"),
        ("a.dat", "pass --format with one of"),
        ("data.arrow", "give the folder that save_to_disk has written"),
    ],
)
def test_a_file_of_another_format_is_refused_with_what_to_do(
    name: str, message: str, tmp_path: Path
) -> None:
    assert message in refused(write(tmp_path / name, "x"))


@pytest.mark.parametrize("path", ["/no/such/file.csv", "a\0b.csv", "x" * 5000])
def test_a_path_that_does_not_exist_is_refused(path: str) -> None:
    message = refused(path)
    assert "does not exist; give a file or a folder of documents" in message
    assert len(message) < 300


def test_a_folder_in_beir_form_is_its_corpus(tmp_path: Path) -> None:
    lines = [
        json.dumps({"_id": each.id, "title": each.title, "text": each.text, "metadata": {}})
        for each in (CATS, DOGS)
    ]
    write(tmp_path / "corpus.jsonl", "\n".join(lines))
    write(tmp_path / "queries.test.jsonl", '{"_id": "q", "text": "who?"}')
    assert read(tmp_path) == [CATS, DOGS]


def test_a_folder_of_shards_is_one_source(tmp_path: Path) -> None:
    write(tmp_path / "part-1.csv.gz", "title,text\nDogs,They bark.")
    write(tmp_path / "part-0.csv", "title,text\nCats,They sleep.")
    assert read(tmp_path) == [CATS, DOGS]


def test_folders_that_are_named_for_a_column_have_its_values(tmp_path: Path) -> None:
    rows = {"year=2023/area=dogs": "d", "year=2024/area=a%2Fb": "c", "raw": "r"}
    for folder, name in {**rows, "year=__HIVE_DEFAULT_PARTITION__": "n"}.items():
        write(tmp_path / folder / "part.csv", f"id,text\n{name},some text about cats\n")
    bundle = load(build(tmp_path, tmp_path.with_suffix(".ranklet")))
    assert bundle.metadata == {"area": "string", "year": "number"}
    found = {hit.id: dict(hit.metadata) for hit in bundle.rank("cats", k=9)}
    assert found == {
        "d": {"area": "dogs", "year": 2023}, "c": {"area": "a/b", "year": 2024}, "r": {}, "n": {},
    }  # fmt: skip
    (tmp_path / "year=2023/area=dogs/part.csv").write_text("id,text,year\nd,about cats,1999\n")
    own = load(build(tmp_path, tmp_path / "own.ranklet"))
    assert [hit.id for hit in own.rank("cats", where={"year": 1999})] == ["d"]


def test_folders_of_texts_are_named_for_columns_too(tmp_path: Path) -> None:
    write(tmp_path / "year=2023" / "a.txt", "An old dough.")
    write(tmp_path / "year=2024" / "b.md", "# New\nA new dough.")
    bundle = load(build(tmp_path, tmp_path.with_suffix(".ranklet"), language="en"))
    found = {hit.id: dict(hit.metadata) for hit in bundle.rank("dough")}
    assert found == {"year=2023/a.txt": {"year": 2023}, "year=2024/b.md": {"year": 2024}}


def test_links_out_of_a_folder_are_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = write(tmp_path / "secret.txt", "password")
    folder = tmp_path / "texts"
    write(folder / "a.txt", "dough")
    (folder / "b.txt").symlink_to(secret)
    (folder / "c.txt").symlink_to("../secret.txt")
    assert [each.text for each in read(folder)] == ["dough"]
    assert "links that lead out of it are not read: 2; copy the files" in caplog.text
    assert [each.text for each in read(folder / "b.txt")] == ["password"]  # the user's own choice
    (folder / "corpus.jsonl").symlink_to(write(tmp_path / "x.jsonl", '{"_id": "1", "text": "a"}'))
    assert "corpus.jsonl is a link that leads out of the folder" in refused(folder)


def test_a_snapshot_of_the_hub_s_cache_is_read_whose_files_are_links(tmp_path: Path) -> None:
    stored = write(tmp_path / "datasets--a--b" / "blobs" / "0123", "seen")
    link = tmp_path / "datasets--a--b" / "snapshots" / "89ab" / "a.txt"
    link.parent.mkdir(parents=True)
    link.symlink_to(stored)
    assert [each.text for each in read(link.parent)] == ["seen"]


def test_several_formats_in_a_folder_need_a_choice(tmp_path: Path) -> None:
    write(tmp_path / "README.md", "# Read me\nplease")
    write(tmp_path / "a.jsonl", json.dumps(CATS._asdict()))
    assert "has files of the formats text (1), jsonl (1); pass --format with one" in refused(
        tmp_path
    )
    assert read(tmp_path, format="jsonl") == [CATS]


def test_a_table_among_many_documents_is_left_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.md", "b.md"):
        write(tmp_path / name, f"# {name}\nplease")
    write(tmp_path / "a.csv", "id,text\n1,one\n")
    assert len(read(tmp_path)) == 2
    assert "csv (1), text (2); only its texts are read, so add the others by" in caplog.text


def test_hidden_files_are_not_read_and_other_endings_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "a.txt", "seen")
    write(tmp_path / ".b.txt", "hidden")
    write(tmp_path / ".git" / "c.txt", "hidden")
    write(tmp_path / "d.png", "picture")
    assert [each.text for each in read(tmp_path)] == ["seen"]
    assert "files with other endings are not read: 1 (.png)" in caplog.text
    assert [each.text for each in read(tmp_path / ".git")] == ["hidden"]


def test_a_folder_without_usable_files_is_refused(tmp_path: Path) -> None:
    assert "has no file that can be read by their ending; the endings are .csv" in refused(tmp_path)
    write(tmp_path / "a.txt", "x")
    assert "has no file that can be read by --format csv" in refused(tmp_path, format="csv")


def test_a_hyphen_is_the_standard_input() -> None:
    assert list_source_files(Path("-"), SourceOptions(format="csv")).paths == [Path("/dev/stdin")]


def test_bundles_are_no_documents(tmp_path: Path) -> None:
    write(tmp_path / "a.json", '{"id": "1", "title": "Cats", "text": "They sleep."}')
    bundle = build(tmp_path, tmp_path / "deep" / "search.ranklet", normaliser="none", language="en")
    assert read(tmp_path) == [CATS]
    assert "is a bundle; give the documents" in refused(bundle)


def test_links_that_lead_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b.txt", "once")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "itself").symlink_to(tmp_path / "a" / "itself")
    (tmp_path / "link.txt").symlink_to(tmp_path / "a" / "b.txt")
    assert [each.id for each in read(tmp_path)] == ["a/b.txt", "link.txt"]


def test_a_file_that_vanishes_is_one_fault_of_a_folder(tmp_path: Path) -> None:
    from ranklet.corpus.sources.options import SourceOptions
    from ranklet.corpus.sources.source import Source

    write(tmp_path / "a.txt", "seen")
    gone = write(tmp_path / "b.txt", "unseen")
    source = Source(tmp_path, SourceOptions(skip_bad=True))
    gone.unlink()
    assert [each.text for each in source.documents()] == ["seen"]
    assert str(source.problems) == (
        f"  1 record cannot be read: {gone} (cannot be read (No such file or directory))"
    )
