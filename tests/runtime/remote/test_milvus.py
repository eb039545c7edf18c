"""A collection in Milvus is ranked as the bundle ranks it itself; Milvus Lite runs here."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.kinds import retrieved_by
from tests.metadata_rows import a_filter, rows

from ranklet.export.build import build
from ranklet.export.errors import ExportError
from ranklet.export.feeds.publishing import publish
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError, RemoteError
from ranklet.runtime.pipeline.stages import Pipeline
from ranklet.runtime.remote.milvus import MilvusSearch
from ranklet.runtime.remote.names import ABOUT
from ranklet.training.data.sources.options import SourceOptions

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.kinds import TinyRankers

pymilvus = pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

KINDS = {
    "bm25": "bm25", "epic": "epic", "splade": "network", "conformer_kernel": "ndrm3",
    "dense": "dense",
}  # fmt: skip
TEXT = "a quiet stream and an old motor"


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End every connection that a test makes."""
    made = []

    def noted(*arguments: Any, **options: Any) -> Any:
        made.append(client(*arguments, **options))
        return made[-1]

    client = pymilvus.MilvusClient
    monkeypatch.setattr(pymilvus, "MilvusClient", noted)
    yield
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a Milvus Lite that all tests here share."""
    return str(tmp_path_factory.mktemp("milvus") / "m.db")


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_the_bundles(kind: str, tiny: "TinyRankers", place: str) -> None:
    ranker, name = KINDS[kind], f"order_{kind}"
    assert publish(tiny.indexed(kind), place, index=name, rankers=[ranker]) == name
    search = MilvusSearch(tiny.indexed(kind), place, name, device="cpu")
    bundle = tiny.bundle(kind)
    for query in (TEXT, "red castle", "world"):
        found = search.rank(query, k=48, pipeline=retrieved_by(ranker))
        expected = bundle.rank(query, k=48, pipeline=retrieved_by(ranker))
        assert {hit.id for hit in found} == {hit.id for hit in expected}
        scores = {hit.id: hit.score for hit in found}
        np.testing.assert_allclose(
            [scores[hit.id] for hit in expected], [hit.score for hit in expected], rtol=1e-4,
            atol=1e-5,
        )  # fmt: skip
        assert [hit.score for hit in found] == sorted(scores.values(), reverse=True)
        texts = {hit.id: hit.text for hit in expected}
        assert all(hit.text == texts[hit.id] for hit in found)


def test_a_bundle_without_documents_retrieves_rescores_and_explains(
    tiny: "TinyRankers", place: str, tmp_path: Path
) -> None:
    checkpoints = {
        "dense": tiny.checkpoint("dense"),
        "cross": tiny.checkpoint("cross_encoder", head="model1", marking="pre_doc"),
    }
    whole = tiny.build(tmp_path, checkpoints)
    publish(whole, place, index="rescored")
    search = MilvusSearch(tmp_path / "rankers", place, "rescored", device="cpu")
    pipeline: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": "dense", "k": 10},
        {"stage": "rescore", "ranker": "cross"},
        {"stage": "fuse", "method": "rrf", "inputs": ["dense", "cross"], "weights": [1, 1]},
    ]
    bundle = Bundle(whole, device="cpu")
    found = search.rank(TEXT, k=5, pipeline=pipeline, explain=True)
    expected = bundle.rank(TEXT, k=5, pipeline=pipeline)
    for hit, own in zip(found, expected, strict=True):  # ids may differ where scores are equal
        assert hit.score == pytest.approx(own.score, rel=1e-4)
        assert hit.explanation is not None
        assert hit.explanation.value == pytest.approx(hit.score, rel=1e-3)
    assert found.timings[0].stage == "search Milvus"
    assert search.rank(TEXT, k=0, pipeline=pipeline).hits == ()


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    return rows(Random(7), 60)


@pytest.fixture(scope="module")
def published(
    documents: list[dict[str, Any]], place: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = build(documents, tmp_path_factory.mktemp("filtered") / "books.ranklet")
    publish(path, place)
    return path


@pytest.fixture
def filtered(published: Path, place: str) -> tuple[Bundle, MilvusSearch]:
    return Bundle(published), MilvusSearch(published, place, "books")


def test_filters_allow_the_documents_that_the_bundle_allows(
    filtered: tuple[Bundle, MilvusSearch],
) -> None:
    bundle, search = filtered
    random, query = Random(1), "bread water house"
    for _ in range(250):
        where = a_filter(random)
        expected = {hit.id: hit for hit in bundle.rank(query, k=60, where=where)}
        found = {hit.id: hit for hit in search.rank(query, k=60, where=where)}
        assert found.keys() == expected.keys(), where
        assert all(found[name].metadata == hit.metadata for name, hit in expected.items())


def test_filters_of_unknown_fields_and_wrong_types_are_refused(
    filtered: tuple[Bundle, MilvusSearch],
) -> None:
    _, search = filtered
    with pytest.raises(InputError, match="unknown field 'yaer'"):
        search.rank("bread", where={"yaer": 2020})
    with pytest.raises(InputError, match="give a number"):
        search.rank("bread", where={"year": "2020"})
    with pytest.raises(InputError):
        search.rank(" ")
    with pytest.raises(InputError, match="k"):
        search.rank("bread", k=-1)


def test_of_a_document_the_best_passage_counts(
    documents: list[dict[str, Any]], place: str, tmp_path: Path
) -> None:
    options = SourceOptions(passage_words=3, overlap_words=0)
    path = build(documents, tmp_path / "passages.ranklet", options=options)
    publish(path, place)
    search, bundle = MilvusSearch(path, place, "passages"), Bundle(path)
    for k, pipeline in (
        (20, None),
        (20, Pipeline.from_json([{**retrieved_by("bm25")[0], "k": 5}])),
    ):
        found = search.rank("bread water", k=k, pipeline=pipeline)
        expected = bundle.rank("bread water", k=k, pipeline=pipeline)
        assert len({hit.id for hit in found}) == len(found) > 3
        if pipeline is None:
            assert {hit.id for hit in found} == {hit.id for hit in expected}
        assert [hit.score for hit in found] == pytest.approx(
            [hit.score for hit in expected], rel=1e-5
        )
        assert all(hit.passage for hit in found)


def test_a_collection_of_another_bundle_is_refused(
    built: "Built", filtered: tuple[Bundle, MilvusSearch], place: str
) -> None:
    assert filtered
    with pytest.raises(InputError, match="'books' does not belong to this bundle"):
        MilvusSearch(built.indexed, place, "books")
    with pytest.raises(RemoteError, match="nothing"):
        MilvusSearch(built.indexed, place, "nothing")
    with pytest.raises(InputError, match="name the collection"):
        MilvusSearch(built.indexed, place)


def test_what_ranklet_has_not_written_is_refused(built: "Built", place: str) -> None:
    client = pymilvus.MilvusClient(place)
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", pymilvus.DataType.VARCHAR, is_primary=True, max_length=10)
    schema.add_field("v", pymilvus.DataType.FLOAT_VECTOR, dim=2)
    for name, said in (
        ("foreign", ""),
        ("broken", "{"),
        ("later", json.dumps({"version": 9, "fields": {}})),
    ):
        client.create_collection(name, schema=schema, properties={ABOUT: said})
        with pytest.raises(InputError, match=r"was not written by|has version 9"):
            MilvusSearch(built.indexed, place, name)
    with pytest.raises(ExportError, match="is no alias"):
        publish(built.indexed, place, index="foreign", overwrite=True)


def test_a_name_means_the_earlier_collection_until_the_new_one_is_complete(
    place: str, tmp_path: Path
) -> None:
    old = build([{"id": "1", "text": "bread"}], tmp_path / "old.ranklet")
    whole = SourceOptions(passage_words=0, overlap_words=0)
    too_long = [{"id": "1", "text": "bread " * 20_000}]
    long = build(too_long, tmp_path / "long.ranklet", options=whole)
    new = build([{"id": "2", "text": "bread"}], tmp_path / "new.ranklet")
    publish(old, place, index="swap")
    with pytest.raises(ExportError, match="replace it"):
        publish(new, place, index="swap")
    with pytest.raises(ExportError, match="more than 65,535 bytes"):
        publish(long, place, index="swap", overwrite=True)
    assert [hit.id for hit in MilvusSearch(old, place, "swap").rank("bread")] == ["1"]
    publish(new, place, index="swap", overwrite=True)
    assert [hit.id for hit in MilvusSearch(new, place, "swap").rank("bread")] == ["2"]
    client = pymilvus.MilvusClient(place)
    assert sum(name.startswith("swap_") for name in client.list_collections()) == 1


def test_nobody_answers(built: "Built") -> None:
    with pytest.raises(RemoteError, match=r"127\.0\.0\.1"):
        MilvusSearch(built.indexed, "milvus://127.0.0.1:1/books", seconds=1)
    with pytest.raises(InputError, match="is no address of Milvus"):
        MilvusSearch(built.indexed, "books.txt")


def test_a_pipeline_must_retrieve_by_what_was_published(
    filtered: tuple[Bundle, MilvusSearch],
) -> None:
    _, search = filtered
    with pytest.raises(InputError, match="has no vectors of the ranker 'dense'"):
        search.rank("bread", pipeline=retrieved_by("dense"))
    with pytest.raises(InputError, match="up to 16,384"):
        search.rank("bread", pipeline=[{"stage": "retrieve", "ranker": "bm25", "k": 20_000}])


def test_pages_and_thresholds_are_the_bundles(filtered: tuple[Bundle, MilvusSearch]) -> None:
    bundle, search = filtered
    whole = search.rank("bread water", k=20)
    page = search.rank("bread water", k=5, offset=10)
    assert [hit.id for hit in page] == [hit.id for hit in whole][10:15]
    least = whole[7].score
    found = search.rank("bread water", k=20, min_score=least)
    assert len(found) == len(bundle.rank("bread water", k=20, min_score=least - 1e-6)) >= 8
    with pytest.raises(InputError, match="offset"):
        search.rank("bread", offset=-1)


def test_a_budget_bounds_the_stages(filtered: tuple[Bundle, MilvusSearch]) -> None:
    _, search = filtered
    ranking = search.rank("bread", budget_ms=60_000)
    assert len(ranking) > 0
    assert not ranking.budget_spent
