import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranklet.corpus.collections.trec import read_lines, read_qrels, read_run, write_qrels, write_run
from ranklet.runtime.ground.errors import CollectionError

GRADES = st.integers(-999_999_999, 999_999_999)
ids = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name.split() == [name])
titles = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n"), min_size=1)
scores = st.floats(allow_nan=False, allow_infinity=False)
hits = st.lists(st.tuples(ids, scores), min_size=1, unique_by=lambda hit: hit[0]).map(
    lambda hits: sorted(hits, key=lambda hit: -hit[1])
)
again = settings(
    max_examples=settings().max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def written(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


JUDGED = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": -1}}


@pytest.mark.parametrize("name", ["qrels.txt", "qrels.tsv.gz"])
@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 -1\n",
        "q1\t0\td1\t1\r\nq1\t0\td2\t0\r\n\r\nq2\t0\td1\t-1",
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t-1\n",
        "q1\td1\t1\nq1\td2\t0\nq2\td1\t-1\n",
        "q1 0\td1 1\nq1\t0\td2\t0\nq2 \t 0\td1\t\t-1\t\n",
        "\ufeffq1\td1\t1\nq1\td2\t0\nq1\td2\t0\nq2\td1\t-1\n",
    ],
    ids=[
        "trec",
        "trec-windows",
        "beir",
        "beir-without-header",
        "mixed",
        "byte-order-mark-and-repetition",
    ],
)
def test_every_form_of_qrels_reads_the_same(tmp_path: Path, name: str, text: str) -> None:
    assert read_qrels(written(tmp_path / name, text)) == JUDGED


def test_an_empty_file_judges_nothing(tmp_path: Path) -> None:
    assert read_qrels(written(tmp_path / "qrels.txt", "")) == {}


@again
@given(qrels=st.dictionaries(titles, st.dictionaries(titles, GRADES, min_size=1)))
def test_qrels_read_back_equal(tmp_path: Path, qrels: dict[str, dict[str, int]]) -> None:
    write_qrels(tmp_path / "qrels.txt", qrels)
    assert read_qrels(tmp_path / "qrels.txt") == qrels


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz"])
@again
@given(run=st.dictionaries(ids, hits), tag=ids)
def test_runs_read_back_equal(
    tmp_path: Path, name: str, run: dict[str, list[tuple[str, float]]], tag: str
) -> None:
    write_run(tmp_path / name, run, tag)
    read = read_run(tmp_path / name)
    assert {query: list(found.items()) for query, found in read.items()} == run


def test_a_run_looks_as_trec_wants_it(tmp_path: Path) -> None:
    write_run(tmp_path / "run.txt", {"q1": [("d2", np.float32(0.1)), ("d1", -1)]}, "bm25")  # type: ignore[list-item]
    lines = (tmp_path / "run.txt").read_text().splitlines()
    assert lines == ["q1 Q0 d2 1 0.10000000149011612 bm25", "q1 Q0 d1 2 -1.0 bm25"]
    assert read_run(tmp_path / "run.txt")["q1"]["d2"] == float(np.float32(0.1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 d1 1 0.5\n", r":1: 5 columns, expected 6 \(qid Q0 docid rank score tag\)"),
        ("\nq1 Q0 d1 1 high bm25\n", r":2: score 'high', expected a finite number"),
        ("q1 Q0 d1 1 nan bm25\n", r":1: score 'nan', expected a finite number"),
        ("q1 Q0 d1 1 1e999 bm25\n", r":1: score '1e999', expected a finite number"),
        ("q1 Q0 d1 1 2 a\nq1 Q0 d1 2 1 a\n", r":2: query 'q1' lists document 'd1' twice"),
    ],
)
def test_bad_runs_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CollectionError, match=r"run\.txt" + message):
        read_run(written(tmp_path / "run.txt", text))


@pytest.mark.parametrize(
    ("run", "tag", "message"),
    [
        ({"q1": [("d1", math.nan)]}, "a", "query 'q1', rank 1, document 'd1': score nan"),
        ({"q1": [("d1", math.inf)]}, "a", "score inf, expected a finite number"),
        ({"q1": [("d1", 1.0), ("d2", 2.0)]}, "a", "score 2.0 is higher than 1.0 above it"),
        ({"q1": [("d1", 1.0), ("d1", 1.0)]}, "a", "rank 2, document 'd1': this query lists the"),
        ({"q 1": [("d1", 1.0)]}, "a", "query id 'q 1', expected one word"),
        ({"q1": [("", 1.0)]}, "a", "document id '', expected one word"),
        ({"q1": [("d\u00a01", 1.0)]}, "a", "expected one word without white space"),
        ({"q1": [("d\ud83d", 1.0)]}, "a", "lone surrogate"),
        ({}, "two words", "tag 'two words', expected one word"),
    ],
)
def test_a_run_that_cannot_be_read_back_is_not_written(
    tmp_path: Path, run: dict[str, list[tuple[str, float]]], tag: str, message: str
) -> None:
    before = written(tmp_path / "run.txt", "q1 Q0 d1 1 0.5 earlier\n").read_bytes()
    with pytest.raises(CollectionError, match=message):
        write_run(tmp_path / "run.txt", run, tag)
    assert [path.name for path in tmp_path.iterdir()] == ["run.txt"]
    assert (tmp_path / "run.txt").read_bytes() == before


def test_ids_with_blanks_stand_between_tabs(tmp_path: Path) -> None:
    write_qrels(tmp_path / "qrels.txt", {"q1": {"my notes/a  b.md": 1, "c.md": 0}})
    assert (tmp_path / "qrels.txt").read_text() == "q1\t0\tmy notes/a  b.md\t1\nq1 0 c.md 0\n"


def test_ids_keep_their_white_space(tmp_path: Path) -> None:
    qrels = {"q ": {" 7": 1, "7": 0, "8\u3000": 2, "\u2028": 1}}
    write_qrels(tmp_path / "qrels.txt", qrels)
    assert read_qrels(tmp_path / "qrels.txt") == qrels
    written(tmp_path / "qrels.tsv", "q1\t0\t 7\t1 \r\n")
    assert read_qrels(tmp_path / "qrels.tsv") == {"q1": {" 7": 1}}
    written(tmp_path / "run.txt", "q1 Q0 d\u00a01 1 0.5 tag\r\n")
    assert read_run(tmp_path / "run.txt") == {"q1": {"d\u00a01": 0.5}}


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"cannot be written \(No such file or directory\)"):
        write_run(tmp_path / "nowhere" / "run.txt", {}, "bm25")


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "lines", "a\u2028b\x0bc\nd\n")
    assert list(read_lines(path)) == [(1, "a\u2028b\x0bc\n"), (2, "d\n")]


@pytest.mark.parametrize("grade", ["1_0", "٣", "9" * 10, "1.0", "--1", "+"])
def test_a_grade_is_a_short_integer(tmp_path: Path, grade: str) -> None:
    (tmp_path / "qrels.txt").write_text(f"q 0 d {grade}\n", "utf-8")
    with pytest.raises(CollectionError, match="expected an integer of at most 9 digits"):
        read_qrels(tmp_path / "qrels.txt")
