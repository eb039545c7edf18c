from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.fusing import weighed
from tests.word_pieces import train_tokenizer

from ranklet.corpus.building.default_pipelines import standard_pipelines
from ranklet.corpus.collections.collection import Collection, Document, write_collection
from ranklet.corpus.collections.splits import read_split
from ranklet.corpus.errors import BuildError
from ranklet.corpus.index import index_bundle
from ranklet.export import bundles
from ranklet.export.bundles import export_bundle
from ranklet.export.exporter import exporter
from ranklet.export.options import ExportOptions
from ranklet.runtime import Bundle, CollectionError, InputError
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.ground.errors import UnknownRankerError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.model1 import Model1Settings
from ranklet.runtime.rankers.verification import verify
from ranklet.training.checkpoint import Checkpoint, read_checkpoint

if TYPE_CHECKING:
    from tests.conftest import Built
    from tests.kinds import TinyRankers

BM25 = Checkpoint("bm25", BM25Settings())


def model1(
    pairs: list[tuple[str, str, float]], field: str = "words", **settings: Any
) -> Checkpoint:
    """Return a Model 1 whose table has (query token, document token, probability)."""
    tokens = sorted({token for pair in pairs for token in pair[:2]}, key=str.encode)
    rows = sorted((tokens.index(q), tokens.index(d), p) for q, d, p in pairs)
    arrays = {
        "target": np.array([row[0] for row in rows], np.int32),
        "source": np.array([row[1] for row in rows], np.int32),
        "probability": np.array([row[2] for row in rows], np.float32),
    }
    return Checkpoint("model1", Model1Settings(field, **settings), arrays, tuple(tokens))


TABLE = model1([("cure", "patch", 0.5), ("cure", "tyre", 0.25), ("gnorp", "zork", 1.0)])


@pytest.fixture
def small(tmp_path: Path) -> Collection:
    documents = [
        Document("a", "A tyre", "patch the tyre"),
        Document("b", "", "knead the dough"),
        Document("c", "Zork", "sleeps"),
    ]
    return write_collection(tmp_path / "small", documents, {})


# ------------------------------------------------------------------------------ export


def test_an_exported_bundle_has_rankers_and_no_collection(built: "Built") -> None:
    manifest = BundleFiles(built.exported, check="full").manifest
    assert (manifest.documents, manifest.fields) == (0, ())
    assert list(manifest.rankers) == list(built.checkpoints)
    assert list(manifest.pipelines) == ["bm25", "bm25_words", "bm25_pieces", "sum", "rrf"]
    assert manifest.default_pipeline == "sum"
    assert set(manifest.provenance["checkpoints"]) == set(built.checkpoints)
    assert list(verify(built.exported))[-1] == "tokenizer"


def test_what_was_saved_exports_like_what_was_trained(
    built: "Built", checkpoints: dict[str, Checkpoint], tmp_path: Path
) -> None:
    read = {name: read_checkpoint(path) for name, path in built.checkpoints.items()}
    again = BundleFiles(Path(export_bundle(read, tmp_path / "again"))).manifest
    assert again.files == BundleFiles(built.exported).manifest.files
    assert again.rankers == BundleFiles(built.exported).manifest.rankers


def test_standard_pipelines() -> None:
    bm25, table = RankerEntry("bm25", {}), RankerEntry("model1", {})
    assert standard_pipelines({"m": table}) == ({}, "")
    found, default = standard_pipelines({"b": bm25})
    assert (list(found), default) == (["b"], "b")
    found, default = standard_pipelines({"m": table, "b": bm25, "c": bm25})
    assert (list(found), default) == (["b", "c", "sum", "rrf"], "sum")
    # A ranker that only rescores is weak alone, so it waits for weights that are learned.
    lists = "retrieve 1000 by b → retrieve 1000 by c → fuse"
    assert str(found["sum"]) == f"{lists} (linear) 0.5·b + 0.5·c"
    assert str(found["rrf"]) == f"{lists} (rrf) 1·b + 1·c"


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "x" * 65, "bm25.v2", "é"])
def test_a_name_that_a_bundle_cannot_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"not a name of a ranker.*NAME=CHECKPOINT"):
        export_bundle({name: TABLE}, tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


def test_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no checkpoint to export"):
        export_bundle({}, tmp_path / "bundle")


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownRankerError, match="unknown ranker kind 'os'; known are bm25"):
        exporter("os")


@pytest.mark.slow
def test_an_export_changes_settings_of_the_kinds_that_have_them(
    tiny: "TinyRankers", tmp_path: Path
) -> None:
    rankers = {"neural": tiny.checkpoint("neural_model1"), "dense": tiny.checkpoint("dense")}
    loose = ExportOptions(variants=("fp32",), max_ndcg_loss=1.0)
    options = replace(loose, settings={"scorer": "onnx", "search": "hnsw", "ef": 64})
    export_bundle(rankers, tmp_path / "rankers", options)
    path = Path(index_bundle(tmp_path / "rankers", tiny.data.collection, tmp_path / "b"))
    bundle = Bundle(path, device="cpu")
    neural, dense = (bundle.manifest.rankers[name].settings for name in rankers)
    assert (neural["scorer"], dense["search"], dense["ef"]) == ("onnx", "hnsw", 64)
    recipe: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": "dense", "k": 9},
        {"stage": "rescore", "ranker": "neural"},
    ]
    assert bundle.rank("old river", pipeline=recipe).providers["neural"] == "CPUExecutionProvider"
    only = {"dense": rankers["dense"]}
    for settings, error, message in (
        ({"scorer": "onnx"}, BuildError, "no checkpoint has the setting 'scorer'"),
        ({"dimension": 3}, BuildError, "no checkpoint has the setting 'dimension'"),
        ({"search": "fast"}, InputError, "search is 'fast'; allowed are exact, binary, hnsw"),
        ({"stored": "int16"}, InputError, "stored is 'int16'; allowed are float32, float16, int8"),
    ):
        with pytest.raises(error, match=message):
            export_bundle(only, tmp_path / "x", replace(loose, settings=settings))


def test_a_value_is_for_the_kinds_that_have_it(
    tiny: "TinyRankers", caplog: pytest.LogCaptureFixture
) -> None:
    rankers = {"dense": tiny.checkpoint("dense"), "colbert": tiny.checkpoint("colbert")}

    def stored(value: str) -> list[str]:
        options = ExportOptions(settings={"stored": value})
        changed = bundles._with_settings(rankers, options)
        return [each.settings.stored for each in changed.values()]

    assert stored("int8") == ["int8", "int8"]
    assert not caplog.messages
    assert stored("float16") == ["float16", "int8"]
    assert stored("int16") == ["float32", "int16"]
    assert caplog.messages == [
        "colbert keeps its own stored, because its kind does not have float16",
        "dense keeps its own stored, because its kind does not have int16",
    ]
    with pytest.raises(InputError, match="'int4'; allowed are float32, float16, int8, int16"):
        stored("int4")


def test_tokenizers_that_differ_are_refused(tmp_path: Path) -> None:
    made = [train_tokenizer(iter(["a text"] * 3), size) for size in (20, 30)]
    more = train_tokenizer(iter(["another text, and more of it"] * 3), 60)
    settings = BM25Settings("wordpieces")
    rankers = {str(at): Checkpoint("bm25", settings, tokenizer=t) for at, t in enumerate(made)}
    export_bundle(rankers, tmp_path / "alike")  # they are equal, though not the same
    rankers["more"] = Checkpoint("bm25", settings, tokenizer=more)
    with pytest.raises(BuildError, match="different tokenizers"):
        export_bundle(rankers, tmp_path / "different")


WRONG: dict[str, dict[str, Any]] = {
    "no table": {"arrays": {}},
    "an array is missing": {"arrays": {k: v for k, v in TABLE.arrays.items() if k != "source"}},
    "lengths differ": {"arrays": {**TABLE.arrays, "source": np.zeros(1, np.int32)}},
    "another type": {"arrays": {**TABLE.arrays, "source": np.zeros(3, np.float64)}},
    "two dimensions": {"arrays": {k: v[:, None] for k, v in TABLE.arrays.items()}},
    "a token past the vocabulary": {"tokens": ("cure", "gnorp", "patch", "tyre")},
    "a token below zero": {"arrays": {**TABLE.arrays, "source": np.array([2, 3, -1], np.int32)}},
    "targets not in order": {"arrays": {k: v[::-1] for k, v in TABLE.arrays.items()}},
    "sources not in order": {
        "arrays": {**TABLE.arrays, "source": TABLE.arrays["source"][[1, 0, 2]]}
    },
    "itself": {"arrays": {**TABLE.arrays, "source": np.array([0, 3, 4], np.int32)}},
    **{
        f"probability {p}": {
            "arrays": {**TABLE.arrays, "probability": np.array([0.5, 0.2, p], np.float32)}
        }
        for p in (0, -1, 1.5, float("nan"), float("inf"))
    },
    "no tokenizer": {"settings": Model1Settings("wordpieces")},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_damaged_table_is_not_exported(name: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="m: "):
        export_bundle({"m": replace(TABLE, **WRONG[name])}, tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------ index


@pytest.mark.parametrize("field", ["words", "lemmas", "wordpieces"])
def test_indexing_again_is_the_same_from_the_exported_and_from_the_indexed_bundle(
    built: "Built", small: Collection, tmp_path: Path, field: str
) -> None:
    rankers = {"bm25": BM25, "m": TABLE}
    if field == "lemmas":
        pairs = [("cure", "patch", 0.5), ("mouse", "zork", 0.25)]
        rankers["m"] = model1(pairs, "lemmas")
    if field == "wordpieces":
        rankers = {n: read_checkpoint(built.checkpoints[n]) for n in ("bm25", "model1_pieces")}
    exported = Path(export_bundle(rankers, tmp_path / "exported"))
    direct = Path(index_bundle(exported, small, tmp_path / "direct"))
    first = Path(index_bundle(exported, built.collection, tmp_path / "first"))
    again = Path(index_bundle(first, small, tmp_path / "again.zip"))
    assert BundleFiles(again, check="full").manifest.files == BundleFiles(direct).manifest.files
    assert BundleFiles(again).manifest.rankers == BundleFiles(direct).manifest.rankers
    back = Path(index_bundle(again, built.collection, tmp_path / "back"))
    assert BundleFiles(back).manifest.files == BundleFiles(first).manifest.files
    assert list(verify(back))


def test_titles_may_be_left_out_of_what_is_ranked(small: Collection, tmp_path: Path) -> None:
    exported = Path(export_bundle({"bm25": BM25}, tmp_path / "exported"))
    with_titles = Bundle(Path(index_bundle(exported, small, tmp_path / "with")))
    without = Bundle(Path(index_bundle(exported, small, tmp_path / "without", titles=False)))
    assert with_titles.rank("zork")[0].title == "Zork"
    assert len(without.rank("zork")) == 0
    assert without.rank("sleep")[0].title == "Zork"
    assert without.manifest.provenance["collection"] == {"name": "small", "titles": False}


def test_a_bundle_may_be_indexed_in_place(small: Collection, tmp_path: Path) -> None:
    path = Path(export_bundle({"bm25": BM25, "m": TABLE}, tmp_path / "bundle"))
    with pytest.raises(BuildError, match="exists"):
        index_bundle(path, small, path)
    index_bundle(path, small, path, overwrite=True)
    assert len(Bundle(path, check="full")) == 3


def test_a_collection_of_one_empty_document_can_be_indexed(tmp_path: Path) -> None:
    collection = write_collection(tmp_path / "c", [Document("a", "", "")], {})
    exported = Path(export_bundle({"bm25": BM25, "m": TABLE}, tmp_path / "exported"))
    indexed = Path(index_bundle(exported, collection, tmp_path / "indexed"))
    assert list(verify(indexed))
    assert len(Bundle(indexed).rank("dough")) == 0
    assert Bundle(indexed).score("dough", ["dough", ""]).shape == (2,)


def test_an_empty_collection_is_refused(tmp_path: Path) -> None:
    collection = write_collection(tmp_path / "c", [], {})
    exported = Path(export_bundle({"bm25": BM25}, tmp_path / "exported"))
    with pytest.raises(CollectionError, match="no document"):
        index_bundle(exported, collection, tmp_path / "indexed")
    assert not (tmp_path / "indexed").exists()


def test_learned_weights_rank_the_learning_queries_best(built: "Built") -> None:
    queries = read_split(built.collection, "train")
    names = ("bm25", "model1")
    found = weighed(Bundle(built.indexed), names, queries)

    def value(pipeline: Any) -> float:
        bundle, total = Bundle(built.indexed), 0.0
        for query in queries:
            ids = [name for name, _ in bundle.rank_ids(query.text, k=10, pipeline=pipeline)]
            places = [at for at, name in enumerate(ids, 1) if name in query.relevant]
            total += 1 / places[0] if places else 0
        return total / len(queries)

    stages = [
        {"stage": "retrieve", "ranker": "bm25", "k": 200},
        {"stage": "rescore", "ranker": "model1"},
    ]
    fuse = {"stage": "fuse", "method": "linear", "inputs": names, "weights": list(found.weights)}
    reached = value([*stages, fuse])
    assert reached == pytest.approx(value(found.pipeline), abs=1e-9)
    assert reached >= value("bm25") - 1e-9
