"""A feed holds what another engine needs to return a bundle's order; Qdrant's client runs here."""

import json
import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.kinds import retrieved_by
from tests.metadata_rows import rows

from ranklet.corpus.errors import BuildError
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.workflows.build import build
from ranklet.workflows.feeds.writing import query_vectors, write_feed

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.kinds import TinyRankers

PAGE = Path(__file__).parents[3] / "docs" / "scaling.md"
KINDS = {"bm25": "bm25", "epic": "epic", "splade": "network", "conformer_kernel": "ndrm3"}
DENSE = "dense"
TEXT = "a quiet stream and an old motor"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, DENSE])
def test_products_of_a_feed_are_the_scores_of_the_bundle(
    kind: str, tiny: "TinyRankers", tmp_path: Path
) -> None:
    ranker = KINDS.get(kind, kind)
    bundle = Bundle(tiny.indexed(kind), device="cpu")
    assert write_feed(tiny.indexed(kind), tmp_path / "feed.jsonl", rankers=[ranker]) == 48
    (query,) = query_vectors(tiny.indexed(kind), TEXT, rankers=[ranker]).values()
    found = {}
    for line in read(tmp_path / "feed.jsonl"):
        vector = line["vectors"][ranker]
        if isinstance(query, dict):
            common = query.keys() & vector.keys()
            if common:
                found[line["document"]] = sum(query[term] * vector[term] for term in common)
        else:
            found[line["document"]] = float(np.dot(query, vector))
    expected = dict(bundle.rank_ids(TEXT, k=48, pipeline=retrieved_by(ranker)))
    assert len(expected) > 5
    assert found == {
        key: pytest.approx(score, rel=1e-4, abs=1e-5) for key, score in expected.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("ranker", ["bm25", DENSE])
def test_the_recipe_for_qdrant_returns_the_order_of_the_bundle(
    ranker: str, tiny: "TinyRankers", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qdrant = pytest.importorskip("qdrant_client")
    bundle = tiny.indexed(DENSE)
    write_feed(bundle, tmp_path / "feed.jsonl", rankers=["bm25", DENSE])
    monkeypatch.chdir(tmp_path)
    client = qdrant.QdrantClient(":memory:")
    monkeypatch.setattr(qdrant, "QdrantClient", lambda address: client)
    section = PAGE.read_text("utf-8").split("**Qdrant**")[1].split("\n## ")[0]
    (recipe,) = re.findall(r"```python\n(.*?)```", section, re.S)
    recipe = recipe.replace('"search.ranklet"', repr(str(bundle))).replace(
        "how do I patch a tyre", TEXT
    )
    names: dict[str, Any] = {}
    exec(recipe.replace('"dense"', repr(ranker)), names)  # noqa: S102
    expected = dict(
        Bundle(bundle, device="cpu").rank_ids(TEXT, k=48, pipeline=retrieved_by(ranker))
    )
    found = [(point.payload["document"], point.score) for point in names["answer"].points]
    assert [score for _, score in found] == pytest.approx([*expected.values()][:10], rel=1e-4)
    for document, score in found:
        assert score == pytest.approx(expected[document], rel=1e-4)


def test_passages_have_their_own_keys_and_metadata_keeps_its_values(tmp_path: Path) -> None:
    options = SourceOptions(passage_words=3, overlap_words=0)
    bundle = build(rows(Random(3), 30), tmp_path / "passages.ranklet", source=options)
    write_feed(bundle, tmp_path / "feed.jsonl")
    lines = read(tmp_path / "feed.jsonl")
    assert len(lines) == len({line["key"] for line in lines}) == bundle.passages
    assert {line["document"] for line in lines} == {f"d{n}" for n in range(30)}
    assert all(line["key"] == f"{line['document']}#{line.get('passage', 1)}" for line in lines)
    stored = {hit.id: dict(hit.metadata) for hit in bundle.rank("bread water", k=30)}
    assert stored
    for line in lines:
        own = stored.get(line["document"], {})
        if "due" in own:
            assert line["metadata"]["due"] == str(own["due"])
        if "tags" in own:
            assert line["metadata"]["tags"] == own["tags"]


def test_the_rankers_of_a_feed_can_be_chosen(tiny: "TinyRankers", tmp_path: Path) -> None:
    write_feed(tiny.indexed(DENSE), tmp_path / "all.jsonl")
    write_feed(tiny.indexed(DENSE), tmp_path / "one.jsonl", rankers=["bm25"])
    assert DENSE in read(tmp_path / "all.jsonl")[0]["vectors"]
    assert [*read(tmp_path / "one.jsonl")[0]["vectors"]] == ["bm25"]


def test_a_file_is_replaced_only_on_request(built: "Built", tmp_path: Path) -> None:
    target = tmp_path / "feed.jsonl"
    target.write_text("precious")
    with pytest.raises(BuildError, match="exists; choose another name, or replace it"):
        write_feed(built.indexed, target)
    assert target.read_text() == "precious"
    write_feed(built.indexed, target, overwrite=True)
    assert [each.name for each in tmp_path.iterdir()] == ["feed.jsonl"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(BuildError, match="is a folder; give a file"):
        write_feed(built.indexed, tmp_path / "folder", overwrite=True)
    with pytest.raises(BuildError, match="cannot be written"):
        write_feed(built.indexed, tmp_path / "missing" / "feed.jsonl")


def test_what_cannot_be_fed_is_refused(built: "Built", tiny: "TinyRankers", tmp_path: Path) -> None:
    target = tmp_path / "feed.jsonl"
    with pytest.raises(BundleError):
        write_feed(built.exported, target)
    with pytest.raises(InputError, match="'model1' cannot be fed; choose of bm25"):
        write_feed(built.indexed, target, rankers=["model1"])
    with pytest.raises(InputError, match="cannot be fed"):
        query_vectors(tiny.indexed("colbert"), TEXT, rankers=["colbert"])
    assert not target.exists()
