"""What a search learns from is read from folders or tables of clicks."""

from pathlib import Path

import numpy as np
import pytest

from ranklet.corpus.collections.collection import Query, write_collection
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.workflows.build import build
from ranklet.workflows.learn.judgements import read_clicks, read_judgements


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> BundleFiles:
    rows = [
        {
            "id": f"d{n}",
            "title": f"Title of text {n}",
            "text": f"Some words of text number {n} here.",
        }
        for n in range(60)
    ]
    target = build(rows, tmp_path_factory.mktemp("judgements") / "b.ranklet")
    return BundleFiles(target)


@pytest.fixture(scope="module")
def documents(bundle: BundleFiles) -> Documents:
    return bundle.need_documents()


def written(tmp_path: Path, text: str, name: str = "clicks.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


def test_documents_that_were_clicked_often_enough_are_relevant(tmp_path: Path) -> None:
    path = written(tmp_path, "query,id,clicks\nhot oven,d1,30\nhot oven,d2,1\nrare,d3,1\n")
    assert [(each.text, each.relevant) for each in read_clicks(path)] == [("hot oven", {"d1": 1})]


def test_ids_are_not_stripped_and_a_position_may_be_missing(tmp_path: Path) -> None:
    rows = "query,id,clicks,position\n oven, 7,3,\noven,7,2,1\n"
    (tmp_path / "a.csv").write_text(rows)
    (query,) = read_clicks(tmp_path / "a.csv")
    assert query.text == "oven"
    assert set(query.relevant) == {" 7", "7"}


def test_a_click_at_a_low_position_says_more(tmp_path: Path) -> None:
    rows = "query\tid\tclicks\tposition\noven\td1\t20\t1\noven\td2\t1\t15\n"
    (query,) = read_clicks(written(tmp_path, rows, "clicks.tsv"))
    assert query.relevant == {"d1": 1, "d2": 1}
    assert np.log2(16) / (20 + np.log2(16)) > 0.1 > 1 / 21


def test_a_log_is_read_as_every_other_table(tmp_path: Path) -> None:
    tabs = 'query\tid\tclicks\n"hot oven\td1\t5\ncold oven\td2\t6\n8" pan\td3\t7\n'
    for text, name in ((tabs, "clicks.tsv"), (tabs.replace("\t", ";"), "clicks.csv")):
        text = text.replace('"hot oven', "hot oven") if name.endswith(".csv") else text
        found = [
            (each.text.strip('"'), *each.relevant)
            for each in read_clicks(written(tmp_path, text, name))
        ]
        assert found == [("hot oven", "d1"), ("cold oven", "d2"), ('8" pan', "d3")]
    latin = tmp_path / "latin.csv"
    latin.write_bytes("query,id,clicks\nüber,d1,5\n".encode("latin-1"))
    with pytest.raises(CollectionError, match=r"latin\.csv:2 is not UTF-8"):
        list(read_clicks(latin))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "has the columns a, b; a log of clicks needs query, id, clicks"),
        ("", "is empty; a log of clicks is a .csv or .tsv file"),
        ("query,id,clicks\nx,d1\n", "clicks.csv:2: 2 fields in a table of 3 columns"),
        ("query,id,clicks\nx,d1,many\n", "clicks.csv:2: 'many' must be a number from 0"),
        ("query,id,clicks\nx,d1,nan\n", "must be a number from 0"),
        ("query,id,clicks,position\nx,d1,3,0\n", "'0' must be a number from 1"),
    ],
)
def test_what_is_no_log_of_clicks_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CollectionError, match=message):
        list(read_clicks(written(tmp_path, text)))


def test_a_log_without_two_clicks_or_in_another_form_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no query with 2 clicks.*it has 2 queries"):
        list(read_clicks(written(tmp_path, "query,id,clicks\noven,d1,1\ndough,d2,1\n")))
    with pytest.raises(CollectionError, match=r"y; it\.jsonl:1 looks like JSON.*; a log") as raised:
        list(read_clicks(written(tmp_path, '{"query": "oven"}\n', "my; it.jsonl")))
    assert "--format" not in str(raised.value)


def test_queries_whose_documents_are_gone_are_left_out(
    documents: Documents, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = [Query("q1", "one"), Query("q2", "two")]
    qrels = {"q1": {"d1": 1, "gone": 1}, "q2": {"gone": 1}}
    write_collection(tmp_path / "c", [], {"train": (queries, qrels)})
    given = read_judgements(tmp_path / "c", documents)
    assert [each.relevant for each in given["train"]] == [{"d1": 1}]
    assert "1 of 2 relevant documents are not in the bundle" in capsys.readouterr().err


def test_queries_without_a_relevant_document_are_kept_and_unjudged_ones_are_not(
    documents: Documents, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = {"train": ([Query("q1", "one")], {"q1": {"d1": 1}})}
    begun = {"dev": ([Query("q2", "two"), Query("q4", "four")], {"q2": {"d1": 0}})}
    write_collection(tmp_path / "c", [], judged | begun)
    (tmp_path / "c" / "queries.log.jsonl").write_text('{"_id": "q3", "text": "three"}\n')
    found = read_judgements(tmp_path / "c", documents)
    assert {name: [(each.id, each.relevant) for each in of] for name, of in found.items()} == {
        "dev": [("q2", {})], "train": [("q1", {"d1": 1})],
    }  # fmt: skip
    assert "split 'log'" in capsys.readouterr().err


def test_judgements_of_other_documents_are_refused(documents: Documents, tmp_path: Path) -> None:
    path = written(tmp_path, "query,id,clicks\noven,elsewhere,9\n")
    with pytest.raises(InputError, match=r"no query with a relevant document.*'elsewhere'"):
        read_judgements(path, documents)


def test_a_folder_without_judged_queries_is_refused(documents: Documents, tmp_path: Path) -> None:
    write_collection(tmp_path / "c", [], {})
    with pytest.raises(CollectionError, match="has no judged queries"):
        read_judgements(tmp_path / "c", documents)
