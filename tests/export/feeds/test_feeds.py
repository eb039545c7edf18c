"""A feed holds what an engine needs to return a bundle's own order.

Qdrant runs here, in its local mode. The arithmetic of the others, which need servers, is done by
the test: the products of what the files and the query have.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.kinds import retrieved_by
from tests.metadata_rows import rows

from ranklet.corpus.errors import BuildError
from ranklet.corpus.sources.options import SourceOptions
from ranklet.export.build import build
from ranklet.export.feeds.plan import engine_names
from ranklet.export.feeds.writing import ENGINES, query_body, write_feed
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError, InputError

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.kinds import TinyRankers

KINDS = {"bm25": "bm25", "epic": "epic", "splade": "network", "conformer_kernel": "ndrm3"}
DENSE = "dense"
TEXT = "a quiet stream and an old motor"
Scored = dict[str, float]  # by id of the document


def entries(engine: str, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return each entry of a feed: its id, and its fields."""
    if engine == "vespa":
        for line in (folder / "documents.jsonl").read_text("utf-8").splitlines():
            document = json.loads(line)
            yield document["put"].split("::", 1)[1], document["fields"]
    elif engine == "qdrant":
        for line in (folder / "points.jsonl").read_text("utf-8").splitlines():
            for point in json.loads(line)["points"]:
                yield point["payload"]["key"], point["payload"] | point["vector"]
    else:
        lines = [json.loads(s) for s in (folder / "bulk.ndjson").read_text("utf-8").splitlines()]
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            yield action["index"]["_id"], document


def wanted(engine: str, body: dict[str, Any]) -> tuple[str, Any]:
    """Return the field that a query searches, and its terms with weights, or its vector."""
    if engine == "vespa":
        found = re.search(r"wand\((\w+), (\[.*?\])\)", body["yql"])
        if found:
            return found[1], {str(term): weight for term, weight in json.loads(found[2])}
        dense = re.search(r"nearestNeighbor\((\w+), q\)", body["yql"])
        assert dense
        return dense[1], body["input.query(q)"]
    query = body["query"]
    if "sparse_vector" in query:
        return query["sparse_vector"]["field"], query["sparse_vector"]["query_vector"]
    if "bool" in query:
        parts = [each["rank_feature"] for each in query["bool"]["should"]]
        field = parts[0]["field"].rpartition(".")[0]
        return field, {each["field"].rpartition(".")[2]: each["boost"] for each in parts}
    script = query["script_score"]["script"]
    if engine == "opensearch":
        return script["params"]["field"], script["params"]["query_value"]
    found = re.search(r"dotProduct\(params.query_vector, '(\w+)'\)", script["source"])
    assert found
    return found[1], script["params"]["query_vector"]


def products(engine: str, folder: Path, body: dict[str, Any]) -> Scored:
    """Return the product of a query with every entry that shares a term with it."""
    field, query = wanted(engine, body)
    scores: Scored = {}
    for key, fields in entries(engine, folder):
        stored = fields[field]
        if isinstance(query, dict):
            common = query.keys() & stored.keys()
            if common:
                scores[key] = sum(query[term] * stored[term] for term in common)
        else:
            vector = stored["values"] if engine == "vespa" else stored
            scores[key] = float(np.dot(query, vector))
    return scores


def assert_same(found: Scored, expected: Scored, *, factor: bool = False) -> None:
    """Check scores of the same documents, which may differ by one factor."""
    assert found.keys() == expected.keys()
    own = np.array([found[name] for name in expected])
    theirs = np.array(list(expected.values()))
    if factor:
        own = own * (theirs.sum() / own.sum())
    np.testing.assert_allclose(own, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "qdrant"])
@pytest.mark.parametrize("kind", [*KINDS, DENSE])
def test_products_of_a_feed_are_the_scores_of_the_bundle(
    kind: str, engine: str, tiny: "TinyRankers", tmp_path: Path
) -> None:
    ranker = KINDS.get(kind, kind)
    bundle = Bundle(tiny.indexed(kind), device="cpu")
    write_feed(tiny.indexed(kind), engine, tmp_path / "feed", rankers=[ranker], query=TEXT, k=50)
    body = json.loads((tmp_path / "feed" / "query.json").read_text("utf-8"))
    expected = dict(bundle.rank_ids(TEXT, k=48, pipeline=retrieved_by(ranker)))
    assert len(expected) > 5
    found = products(engine, tmp_path / "feed", body)
    sparse_in_steps = engine == "vespa" and kind != DENSE
    assert_same(found, expected, factor=sparse_in_steps)
    assert body == query_body(tiny.indexed(kind), engine, TEXT, ranker=ranker, k=50)


@pytest.mark.parametrize("kind", [*KINDS, DENSE])
def test_qdrant_returns_the_order_of_the_bundle(
    kind: str, tiny: "TinyRankers", tmp_path: Path
) -> None:
    qdrant = pytest.importorskip("qdrant_client")
    models, ranker = qdrant.models, KINDS.get(kind, kind)
    bundle = Bundle(tiny.indexed(kind), device="cpu")
    write_feed(tiny.indexed(kind), "qdrant", tmp_path / "feed", rankers=[ranker], query=TEXT, k=48)
    client = qdrant.QdrantClient(":memory:")
    request = models.CreateCollection.model_validate(
        json.loads((tmp_path / "feed" / "collection.json").read_text("utf-8"))
    )
    client.create_collection(
        "tiny", vectors_config=request.vectors or {}, sparse_vectors_config=request.sparse_vectors
    )
    for line in (tmp_path / "feed" / "points.jsonl").read_text("utf-8").splitlines():
        client.upsert("tiny", models.PointsList.model_validate(json.loads(line)).points)
    assert client.count("tiny").count == 48
    body = json.loads((tmp_path / "feed" / "query.json").read_text("utf-8"))
    query = models.QueryRequest.model_validate(body)
    answer = client.query_points(
        "tiny", query=query.query, using=query.using, limit=query.limit, with_payload=True
    )
    expected = dict(bundle.rank_ids(TEXT, k=48, pipeline=retrieved_by(ranker)))
    found = {point.payload["document"]: point.score for point in answer.points}
    assert_same(found, expected)
    scores = list(found.values())
    assert scores == sorted(scores, reverse=True)


@pytest.fixture(scope="module")
def passages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with metadata of all types, whose documents are split."""
    documents = rows(Random(3), 30)
    options = SourceOptions(passage_words=3, overlap_words=0)
    return Path(
        build(documents, tmp_path_factory.mktemp("fed") / "Of passages.ranklet", options=options)
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_passages_have_their_own_keys_and_are_grouped(
    engine: str, passages: Path, tmp_path: Path
) -> None:
    bundle = Bundle(passages)
    write_feed(passages, engine, tmp_path / "feed", query="bread water")
    found = list(entries(engine, tmp_path / "feed"))
    assert len(found) == len({key for key, _ in found}) == bundle.passages
    assert {fields["document"] for _, fields in found} == {f"d{n}" for n in range(30)}
    text = (tmp_path / "feed" / "query.json").read_text("utf-8")
    assert "document" in text
    assert any(sign in text for sign in ("collapse", "group_by", "group(document)"))


@pytest.mark.parametrize("engine", ENGINES)
def test_metadata_keeps_its_values(engine: str, passages: Path, tmp_path: Path) -> None:
    write_feed(passages, engine, tmp_path / "feed")
    stored: dict[str, dict[str, Any]] = {
        hit.id: dict(hit.metadata) for hit in Bundle(passages).rank("bread water", k=30)
    }
    assert stored
    for _, fields in entries(engine, tmp_path / "feed"):
        if fields["document"] not in stored:
            continue
        metadata = stored[fields["document"]]
        if engine == "vespa":
            assert fields.get("metadata_year") == metadata.get("year")
            assert fields.get("metadata____price__") == metadata.get("../price €")
            if "seen" in metadata:
                assert fields["metadata_seen"] == metadata["seen"].timestamp()
        else:
            own = fields.get("metadata", {})
            assert own.get("tags") == metadata.get("tags")
            if "due" in metadata:
                assert own["due"] == metadata["due"].isoformat()


def test_the_schema_of_vespa_is_what_its_own_library_writes(
    tiny: "TinyRankers", tmp_path: Path
) -> None:
    vespa = pytest.importorskip("vespa.package")
    write_feed(
        tiny.indexed("dense"), "vespa", tmp_path / "feed", rankers=["bm25", "dense"], index="t"
    )
    tensor = "tensor<float>(x[32])"
    shown = ["attribute", "summary"]
    searched = ["index", "summary"]
    document = vespa.Document(
        [
            vespa.Field("key", "string", indexing=shown),
            vespa.Field("document", "string", indexing=shown),
            vespa.Field("title", "string", indexing=searched),
            vespa.Field("text", "string", indexing=searched),
            vespa.Field(
                "impacts_bm25", "weightedset<int>", indexing=["attribute"],
                attribute=["fast-search"],
            ),
            vespa.Field(
                "vector_dense", tensor, indexing=["attribute", "index"],
                attribute=["distance-metric: dotproduct"],
            ),
        ]
    )  # fmt: skip
    profiles = [
        vespa.RankProfile("impacts_bm25", first_phase="rawScore(impacts_bm25)"),
        vespa.RankProfile(
            "vector_dense",
            first_phase="sum(query(q) * attribute(vector_dense))",
            inputs=[("query(q)", tensor)],
        ),
    ]
    theirs = vespa.Schema("t", document, rank_profiles=profiles).schema_to_text
    ours = (tmp_path / "feed" / "schemas" / "t.sd").read_text("utf-8")
    assert _normal(ours) == _normal(theirs)


def _normal(schema: str) -> str:
    """Return a schema without spaces, and with short forms of blocks in place of long ones."""
    flat = " ".join(schema.split())
    flat = re.sub(r"attribute \{ ([^}]*?) \}", r"attribute: \1", flat)
    flat = re.sub(r"expression \{ (.*?) \}", r"expression: \1", flat)
    return "".join(flat.split())


def test_the_rankers_of_a_feed_can_be_chosen(tiny: "TinyRankers", tmp_path: Path) -> None:
    write_feed(tiny.indexed("dense"), "elasticsearch", tmp_path / "all")
    write_feed(tiny.indexed("dense"), "elasticsearch", tmp_path / "one", rankers=["bm25"])
    every, one = (json.loads((tmp_path / n / "feed.json").read_text()) for n in ("all", "one"))
    assert "vector_dense" in every["rankers"].values()
    assert one["rankers"] == {"bm25": "impacts_bm25"}


def test_an_earlier_feed_is_replaced_only_on_request(built: "Built", tmp_path: Path) -> None:
    target = tmp_path / "feed"
    write_feed(built.indexed, "qdrant", target)
    with pytest.raises(BuildError, match="exists; choose another name, or replace it"):
        write_feed(built.indexed, "vespa", target)
    write_feed(built.indexed, "vespa", target, overwrite=True)
    assert not (target / "points.jsonl").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["feed"]


def test_no_folder_but_a_feed_is_replaced(built: "Built", tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(BuildError, match="is no feed"):
        write_feed(built.indexed, "vespa", tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine").is_dir()


def test_a_feed_with_other_files_is_not_replaced(built: "Built", tmp_path: Path) -> None:
    write_feed(built.indexed, "qdrant", tmp_path / "feed")
    (tmp_path / "feed" / "load.sh").write_text("a day of work")
    with pytest.raises(BuildError, match=r"would be lost: 'load\.sh'"):
        write_feed(built.indexed, "vespa", tmp_path / "feed", overwrite=True)
    assert (tmp_path / "feed" / "points.jsonl").exists()


def test_a_feed_that_fails_leaves_the_earlier_one(tmp_path: Path) -> None:
    long = Path(build([{"id": "x" * 600, "text": "bread"}], tmp_path / "long.ranklet"))
    short = Path(build([{"id": "x", "text": "bread"}], tmp_path / "short.ranklet"))
    write_feed(short, "opensearch", tmp_path / "feed")
    with pytest.raises(BuildError, match="more than 512 bytes"):
        write_feed(long, "opensearch", tmp_path / "feed", overwrite=True)
    assert [key for key, _ in entries("opensearch", tmp_path / "feed")] == ["x"]
    assert not list(tmp_path.glob(".feed*"))


def test_what_cannot_be_fed_is_refused(built: "Built", tiny: "TinyRankers", tmp_path: Path) -> None:
    target = tmp_path / "feed"
    with pytest.raises(BundleError):
        write_feed(built.exported, "vespa", target)
    with pytest.raises(InputError, match="'model1' cannot be fed; choose of bm25"):
        write_feed(built.indexed, "vespa", target, rankers=["model1"])
    with pytest.raises(InputError, match="unknown engine 'solr'; choose of vespa"):
        write_feed(built.indexed, "solr", target)
    with pytest.raises(InputError, match="the index name is 'Ü'"):
        write_feed(built.indexed, "vespa", target, index="Ü")
    with pytest.raises(InputError, match="cannot be fed"):
        query_body(tiny.indexed("colbert"), "vespa", TEXT, ranker="colbert")
    assert not target.exists()


def test_two_fields_of_the_metadata_never_become_one() -> None:
    with pytest.raises(BuildError, match=r"'a\.b' and another field would both be called 'a_b'"):
        engine_names({"a_b": "string", "a.b": "number"}, r"\.")
