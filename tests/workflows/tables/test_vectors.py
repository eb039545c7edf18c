"""A bundle whose queries are encoded by a table, from a model to a search."""

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.query_tables import MINUTES, indexed_with_table, rankers_with_network, rankers_with_table

import ranklet
from ranklet.commands import main
from ranklet.corpus.collections.collection import Document, Query, write_collection
from ranklet.export.errors import ExportError
from ranklet.export.rankers.dense.query_table import TABLES
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.dense import Dense, DenseEncoder
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.rankers.verification import verify
from ranklet.workflows.tables import agreement as agreement_module
from ranklet.workflows.tables import learning
from ranklet.workflows.tables.agreement import Agreement, agreement, say_agreement
from ranklet.workflows.tables.checkpoints import write_table
from ranklet.workflows.tables.learning import learn_table
from ranklet.workflows.tables.options import QUERIES, QueryOptions
from ranklet.workflows.tables.vectors import with_query_tables

pytestmark = pytest.mark.slow  # tiny models, but each is trained, exported and proven

DENSE = [{"stage": "retrieve", "ranker": "dense", "k": 20}]


@pytest.fixture(autouse=True)
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "LEAST", 400)


def test_documents_keep_the_network_and_queries_have_a_table(tiny: TinyRankers) -> None:
    network, table = (
        BundleFiles(path) for path in (rankers_with_network(tiny), rankers_with_table(tiny))
    )
    texts = ["quiet stream", "old river"]
    exact, ours = (DenseEncoder.open(bundle, "dense") for bundle in (network, table))
    np.testing.assert_array_equal(
        exact.encode_documents(texts).vectors, ours.encode_documents(texts).vectors
    )
    found, wanted = (each.encode_queries(texts).vectors for each in (ours, exact))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    assert (found * wanted).sum(1).min() > 0.5
    report = table.manifest.provenance["checkpoints"]["dense"]["query table"]
    assert "cosine to the network on unseen texts" in report
    rows = np.load(Path(str(table.path)) / "rankers/dense/query/rows.npy")
    assert rows.dtype == np.int8
    assert verify(indexed_with_table(tiny)) is not None


def test_a_table_is_learned_once(tiny: TinyRankers, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = TABLES.teacher(BundleFiles(rankers_with_network(tiny)), "dense")
    first = learn_table(teacher, [], MINUTES)
    mute = teacher._replace(encode=lambda _: pytest.fail("it learns again"))
    again = learn_table(mute, [], MINUTES)
    np.testing.assert_allclose(first.rows, again.rows, rtol=1e-3, atol=1e-6)
    assert (first.cosine, first.texts, first.seconds) == (again.cosine, again.texts, again.seconds)
    other = teacher._replace(digest="another network")
    monkeypatch.setattr(learning, "_of_model", lambda *_: first)
    assert learn_table(other, [], MINUTES) is first


def test_what_has_no_network_for_queries_is_refused(tiny: TinyRankers, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="compares by the inner product"):
        TABLES.teacher(BundleFiles(tiny.exported("dense")), "dense")
    with pytest.raises(ExportError, match="models that make one vector"):
        with_query_tables(tiny.exported("bm25"), tmp_path / "b", [], MINUTES)
    with pytest.raises(InputError, match="learns from a model"):
        ranklet.build(["a text"], tmp_path / "b", queries="table")
    with pytest.raises(InputError, match="texts have no effect"):
        ranklet.build(["a text"], tmp_path / "b", texts=["x.csv"], models=["y"])


def test_the_first_documents_are_compared_with_the_networks(
    tiny: TinyRankers, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    bundle = ranklet.load(indexed_with_table(tiny))
    found = agreement(bundle, "dense")
    assert found.words is not None
    assert 0 < found.table <= 1
    say_agreement(bundle)
    told = f"{found.table:.0%} of the table's first ten are the network's"
    assert told in capsys.readouterr().out
    ranker = open_ranker(bundle.files, "dense")
    assert isinstance(ranker, Dense)
    same = {"_queries": ranker.encoder.encoder}
    with patch.dict(vars(ranker.encoder), same):
        assert agreement(bundle, "dense").table == 1
    with patch.object(agreement_module, "agreement", lambda *_: Agreement(0.2, 0.3)):
        say_agreement(bundle)
    assert "words alone may rank as well" in caplog.text


def test_documents_are_added_with_the_network(tiny: TinyRankers, tmp_path: Path) -> None:
    added = [{"id": "new", "text": "a quiet stream of new words"}]
    target = tmp_path / "b"
    ranklet.update(indexed_with_table(tiny), added, target=target)
    hits = ranklet.load(target).rank("quiet stream", k=48, pipeline=DENSE)
    assert "new" in {hit.id for hit in hits}


def test_a_models_folder_with_a_table_is_a_model(tiny: TinyRankers, tmp_path: Path) -> None:
    model = tiny.checkpoint_folder("dense", similarity="cosine")
    folder = write_table(model, tmp_path / "model", ["a quiet stream"], MINUTES)
    assert json.loads((folder / "ranklet.json").read_text())["settings"]["encoder"] == "query_table"
    texts = [f"{each.title} {each.text}" for each in tiny.data.collection.documents()]
    bundle = ranklet.build(texts, tmp_path / "b", models=[folder])
    encoder = open_ranker(bundle.files, "model")
    assert isinstance(encoder, Dense)
    assert encoder.provider == ""
    assert bundle.rank("quiet stream")
    cut = ranklet.build(texts, tmp_path / "c", models=[folder], vocabulary="collection")
    rows, fewer = (
        np.load(Path(each.path) / "rankers/model/query/rows.npy") for each in (bundle, cut)
    )
    assert len(fewer) <= len(rows)
    with pytest.raises(InputError, match="exists"):
        write_table(model, folder, [], MINUTES)


def test_a_build_learns_a_table_of_its_own_texts(tiny: TinyRankers, tmp_path: Path) -> None:
    model = tiny.checkpoint_folder("dense", similarity="cosine")
    texts = [f"{each.title} {each.text}" for each in tiny.data.collection.documents()]
    bundle = ranklet.build(
        texts, tmp_path / "b", models=[model], queries="table", table_minutes=MINUTES
    )
    hits = bundle.rank("quiet stream", explain=True)
    assert hits[0].explanation is not None
    assert len({*bundle.manifest.pipelines}) > 1


def test_an_export_has_a_table(tiny: TinyRankers, tmp_path: Path) -> None:
    model = tiny.checkpoint_folder("dense", similarity="cosine")
    command = ["export", f"dense={model}", "-o", str(tmp_path / "b"), "--queries", "table"]
    assert main([*command, "--table-minutes", "0.01", "--max-ndcg-loss", "1"]) in (0, 3)
    assert "query_table" in (tmp_path / "b" / "manifest.json").read_text()
    assert main(["table", str(model), "-o", str(tmp_path / "m"), "--minutes", "0.01"]) == 0
    assert (tmp_path / "m" / "query_rows.npy").is_file()


def test_a_table_learns_queries_of_train_too(tmp_path: Path) -> None:
    judged = {"train": ([Query("1", "how  to knead")], {"1": {"d": 1}})}
    write_collection(tmp_path / "judged", [Document("d", "Dough", "Knead the dough.")], judged)
    options = QueryOptions(queries="table", texts=[tmp_path / "judged"])
    texts = {*options.learned_from([("", "An own text of four words.")])}
    assert {"how to knead", "Dough", "An own text of four words."} <= texts
    assert QUERIES.learned_from(source=tmp_path / "judged") == ["how to knead"]
    (tmp_path / "judged" / "corpus.jsonl").unlink()  # as `ranklet judge` writes it
    assert options.learned_from() == ["how to knead"]
