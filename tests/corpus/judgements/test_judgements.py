from collections.abc import Mapping
from pathlib import Path

import pytest

from ranklet.corpus.collections.collection import Collection, Document, Query, write_collection
from ranklet.corpus.judgements.judgements import check_judgements
from ranklet.runtime.ground.errors import InputError

Qrels = Mapping[str, Mapping[str, int]]
TEXTS = [Query(f"q{number}", f"question {number}") for number in range(4)]


def judged(folder: Path, qrels: Qrels, queries: list[Query] | None = None) -> Collection:
    documents = [Document(f"d{number}", "", "text") for number in range(3)]
    splits = {"dev": (TEXTS if queries is None else queries, qrels)}
    return write_collection(folder / "collection", documents, splits)


def warnings(collection: Collection, capsys: pytest.CaptureFixture[str]) -> list[str]:
    check_judgements(collection, ["dev"], collection.lacking, "the collection")
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_judgements_that_fit_are_no_reason_for_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = judged(tmp_path, {query.id: {"d1": 1, "d2": 0} for query in TEXTS})
    assert warnings(collection, capsys) == []


def test_every_fault_is_counted_and_its_first_case_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels = {
        "q0": {"gone0": 0, "d0": 1, "d1": 1},
        "q1": {"d2": 2, "gone1": 1},
        "q2": {"gone1": 1},
        "q3": {"d0": 0},
        "nowhere": {"d0": 1},
        "neither": {"d0": 1},
    }
    collection = judged(tmp_path, qrels)
    assert warnings(collection, capsys) == [
        "warning: of the 5 judged documents of 'dev', 2 cannot be found (1 relevant); the first is "
        "'gone1', judged for query 'q1'",
        "warning: 2 queries of 'dev' are judged and have no text; the first is 'nowhere'",
        "warning: 1 query of 'dev' has no relevant document; the first is 'q3'",
        "warning: 1 query of 'dev' has only relevant documents that cannot be found; the first is "
        "'q2'",
    ]
    check = check_judgements(collection, ["dev"], collection.lacking, "the collection")
    assert check.counts() == {
        "judged": 5,
        "missing": 2,
        "missing_relevant": 1,
        "queries_without_text": 2,
        "queries_without_relevant": 1,
        "queries_unanswerable": 1,
    }


def test_only_the_part_of_a_split_that_is_used_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = judged(tmp_path, {f"q{number}": {"d0": 0} for number in range(200)})
    for parts in (["dev[:50%]", "dev[50%:]"], ["dev", "dev[50%:]"]):
        check = check_judgements(collection, parts, collection.lacking, "it")
        assert len(check.without_text) == 196
    half = check_judgements(collection, ["dev[:50%]"], collection.lacking, "it")
    assert 50 < len(half.without_text) < 150
    capsys.readouterr()


@pytest.mark.parametrize(("missing", "refused"), [(2, False), (3, True)])
def test_more_than_half_of_the_relevant_documents_must_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: int, refused: bool
) -> None:
    gone = {f"gone{number}": 1 for number in range(missing)}
    irrelevant = {"d2": 0, "gone9": 0}  # of no weight
    collection = judged(tmp_path, {"q0": {"d0": 1, "d1": 1, **gone, **irrelevant}}, TEXTS[:1])
    if not refused:
        assert len(warnings(collection, capsys)) == 1
        return
    with pytest.raises(InputError) as caught:
        check_judgements(collection, ["dev"], collection.lacking, "the bundle x")
    assert str(caught.value) == (
        "3 of 5 relevant documents of 'dev' are not in the bundle x, the first is 'gone0' of query "
        "'q0'; give the documents that were judged"
    )
