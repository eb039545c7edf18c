"""A new search weighs its rankers by the collection alone."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fusing import fused

from ranklet import runtime
from ranklet.corpus.building.default_fusion import (
    WORDS_SHARE,
    WORDS_SPREAD,
    FusionOptions,
    compute_shares,
    make_queries,
    read_spreads,
    read_weights,
    take_weights,
)
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.update import update
from ranklet.export.bundles import export_bundle
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.pipelines.pipeline import Fuse
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint

WORDS = [
    "bread",
    "dough",
    "yeast",
    "flour",
    "water",
    "oven",
    "salt",
    "butter",
    "sugar",
    "milk",
    "egg",
    "cake",
]
TEXTS = [
    {
        "id": str(number),
        "title": f"{WORDS[number % 12]} {WORDS[number % 7]}" if number % 2 else "",
        "text": " ".join(WORDS[number * step % 12] for step in (1, 5, 7, 3)) + ".",
    }
    for number in range(1, 25)
]


@pytest.fixture(scope="module")
def rankers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkpoints = {name: Checkpoint("bm25", BM25Settings(name)) for name in ("lemmas", "words")}
    return Path(export_bundle(checkpoints, tmp_path_factory.mktemp("fusion") / "rankers"))


def indexed(rankers: Path, target: Path, options: FusionOptions | None = None) -> runtime.Bundle:
    fusion = FusionOptions() if options is None else options
    return runtime.load(index_bundle(rankers, Source(TEXTS), target, fusion=fusion))


def fuse(bundle: runtime.Bundle, name: str = "sum") -> Fuse:
    stage = bundle.manifest.pipelines[name].stages[-1]
    assert isinstance(stage, Fuse)
    return stage


def test_a_ranker_weighs_the_less_the_more_its_scores_spread() -> None:
    assert take_weights({"bm25": 0.1, "dense": 20.0}) == {"bm25": 0.995, "dense": 0.00498}
    assert take_weights({"a": 0.2, "b": 0.0}) == {"a": 0.5, "b": 0.5}


def test_words_count_less_than_an_encoder_of_the_same_spread() -> None:
    weights = take_weights({"bm25": 0.1, "dense": 0.1, "more": 0.1}, {"bm25": WORDS_SHARE})
    assert weights == {"bm25": 0.25, "dense": 0.375, "more": 0.375}


def test_a_table_of_queries_counts_as_much_as_words() -> None:
    entries = {
        name: RankerEntry(kind, settings)
        for name, kind, settings in (
            ("bm25", "bm25", {}),
            ("table", "dense", {"encoder": "query_table"}),
            ("network", "dense", {"encoder": "network"}),
        )
    }
    assert compute_shares(entries) == {"bm25": WORDS_SHARE, "table": WORDS_SHARE}


@pytest.mark.slow
def test_the_weights_are_those_of_the_spreads_in_the_collection(
    tiny_bundle: Callable[[str], runtime.Bundle],
) -> None:
    bundle, names = tiny_bundle("dense"), ["bm25", "dense"]
    spreads = {**read_spreads(bundle, names), "bm25": WORDS_SPREAD}
    assert spreads["dense"] > 0
    stage = fuse(bundle)
    wanted = take_weights(spreads, {"bm25": WORDS_SHARE})
    assert dict(zip(stage.inputs, stage.weights, strict=True)) == wanted
    assert bundle.manifest.default_pipeline == "sum"
    assert bundle.manifest.provenance["fusion"]["weights"] == "measured on the collection"


def test_words_have_one_spread_everywhere(rankers: Path, tmp_path: Path) -> None:
    bundle = indexed(rankers, tmp_path / "b")
    assert fuse(bundle).weights == (0.5, 0.5)
    assert set(bundle.manifest.provenance["fusion"]["spreads"].values()) == {WORDS_SPREAD}


def test_queries_are_titles_and_sentences_of_documents_without_one(
    rankers: Path, tmp_path: Path
) -> None:
    documents = indexed(rankers, tmp_path / "b").files.need_documents()
    queries = list(make_queries(documents))
    assert queries[:2] == [TEXTS[0]["title"], TEXTS[1]["text"]]


def test_given_weights_are_kept_and_who_has_none_takes_no_part(
    rankers: Path, tmp_path: Path
) -> None:
    both = FusionOptions(weights={"words": 0.75, "lemmas": 0.25})
    stage = fuse(indexed(rankers, tmp_path / "both", both))
    assert (stage.inputs, stage.weights) == (("words", "lemmas"), (0.75, 0.25))
    one = indexed(rankers, tmp_path / "one", FusionOptions(weights={"words": 1.0}))
    assert one.manifest.default_pipeline == "words"
    assert "sum" not in one.manifest.pipelines


def test_ranks_can_be_the_default(rankers: Path, tmp_path: Path) -> None:
    bundle = indexed(rankers, tmp_path / "b", FusionOptions(fusion="ranks"))
    assert bundle.manifest.default_pipeline == "rrf"
    assert fuse(bundle, "rrf").weights == (1.0, 1.0)


def test_an_update_keeps_the_weights(rankers: Path, tmp_path: Path) -> None:
    before = fuse(indexed(rankers, tmp_path / "b"))
    new = [{"id": "new", "title": "", "text": "yeast yeast yeast " * 40}]
    assert fuse(runtime.load(update(tmp_path / "b", add=new).path)) == before


def test_what_was_learned_stays_the_default_of_other_documents(
    rankers: Path, tmp_path: Path
) -> None:
    indexed(rankers, tmp_path / "b")
    judged = [JudgedQuery("1", "bread dough", {"1": 1}), JudgedQuery("2", "egg cake", {"2": 1})]
    fused(tmp_path / "b", tmp_path / "fused", judged, ("words", "lemmas"))
    bundle = indexed(tmp_path / "fused", tmp_path / "c")
    assert bundle.manifest.default_pipeline == "linear"
    assert fuse(bundle).weights == fuse(indexed(rankers, tmp_path / "d")).weights


@pytest.mark.parametrize("weights", ["bm25", "bm25=x", "=1", "a=1,,b=2"])
def test_weights_that_cannot_be_read_are_refused(weights: str) -> None:
    with pytest.raises(InputError, match="type names of rankers and their weights"):
        read_weights(weights)
