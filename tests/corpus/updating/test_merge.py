"""Merged bundles equal one of all documents, and bundles that do not fit are refused."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.kinds import TinyRankers
from tests.updates import SPLIT, WHOLE, documents_of, first_records, held, indexed, seeded

import ranklet
from ranklet.corpus.errors import BuildError
from ranklet.corpus.index import index_bundle
from ranklet.corpus.sources.source import Source
from ranklet.corpus.updating.merge import merge
from ranklet.corpus.updating.update import update
from ranklet.export.bundles import export_bundle
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from tests.conftest import Built


def check_parts(rankers: Path, folder: Path, seed: int, parts: int) -> None:
    """Compare merged bundles, made of parts of a collection, with one of the whole."""
    rng, options = seeded(seed), (WHOLE, SPLIT)[seed % 2]
    records = first_records(rng, 12)
    ends = [0, *sorted(rng.sample(range(1, 12), parts - 1)), 12]
    bundles = [
        indexed(rankers, records[begin:end], folder / f"part{at}", options)
        for at, (begin, end) in enumerate(pairwise(ends))
    ]
    merged = Path(merge(bundles, folder / "merged", overwrite=True))
    assert held(merged) == held(indexed(rankers, records, folder / "whole", options))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_merged_lexical_rankers_are_as_from_scratch(
    seed: int, built: "Built", tmp_path: Path
) -> None:
    check_parts(built.exported, tmp_path, seed, parts=2 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "epic", "colbert", "srm", "tk", "neural_model1"])
def test_merged_neural_rankers_are_as_from_scratch(
    kind: str, tiny: TinyRankers, tmp_path: Path
) -> None:
    check_parts(tiny.exported(kind), tmp_path, 0, parts=2)


@pytest.fixture
def two(built: "Built", tmp_path: Path) -> list[Path]:
    """Return bundles of the documents a, b and c, and of d and b."""
    texts = ({"a": "one", "b": "two mice", "c": "three"}, {"d": "four", "b": "two mouse"})
    return [
        indexed(
            built.exported,
            [{"id": name, "text": text} for name, text in own.items()],
            tmp_path / f"b{at}",
            WHOLE,
        )
        for at, own in enumerate(texts)
    ]


@pytest.mark.parametrize(("prefer", "text"), [("first", "two mice"), ("last", "two mouse")])
def test_a_document_of_several_bundles_is_taken_from_the_preferred_one(
    prefer: Any, text: str, two: list[Path], built: "Built", tmp_path: Path
) -> None:
    merged = Path(ranklet.merge(two, tmp_path / "merged", prefer=prefer))
    found = {each.id: each.text for each in documents_of(merged)}
    assert list(found) == ["a", "b", "c", "d"]
    assert found["b"] == text
    records = [{"id": name, "text": text} for name, text in found.items()]
    assert held(merged) == held(indexed(built.exported, records, tmp_path / "whole", WHOLE))


def test_a_document_of_several_bundles_is_refused_otherwise(
    two: list[Path], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="several bundles have the document 'b'; pass --prefer"):
        merge(two, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    update(two[1], delete=["b"])
    assert [each.id for each in documents_of(Path(merge(two, tmp_path / "merged")))] == list("abcd")
    with pytest.raises(BuildError, match="exists"):
        merge(two, tmp_path / "merged")
    merge([tmp_path / "merged", *two[:1]], tmp_path / "merged", prefer="first", overwrite=True)


@pytest.mark.slow
def test_bundles_must_fit(two: list[Path], built: "Built", tmp_path: Path) -> None:
    def refused(other: Path, message: str) -> None:
        with pytest.raises(InputError, match=message):
            merge([two[0], other], tmp_path / "merged")

    some = [{"id": "e", "text": "five. six. seven eight nine ten. eleven"}]
    settings = {name: BM25Settings(k1=k1) for name, k1 in (("bm25", 1.0), ("other", 1.2))}
    bm25 = {name: Checkpoint("bm25", own) for name, own in settings.items()}
    for name, checkpoints in bm25.items():
        export_bundle({name: checkpoints}, tmp_path / f"rankers-{name}")
    alone = {
        name: indexed(tmp_path / f"rankers-{name}", some, tmp_path / f"alone-{name}", WHOLE)
        for name in bm25
    }
    refused(alone["bm25"], "have different rankers: bm25, bm25_words")
    export_bundle({"other": bm25["bm25"]}, tmp_path / "renamed")
    renamed = indexed(tmp_path / "renamed", some, tmp_path / "indexed", WHOLE)
    with pytest.raises(InputError, match=r"'other' is not the same .* its settings differ"):
        merge([alone["other"], renamed], tmp_path / "merged")
    refused(indexed(built.exported, some, tmp_path / "split", SPLIT), "split texts differently")
    source = Source(some, WHOLE)
    untitled = Path(index_bundle(built.exported, source, tmp_path / "untitled", titles=False))
    refused(untitled, "only one of .* ranks titles")


def test_tables_that_were_learned_must_be_the_same(
    two: list[Path], built: "Built", tmp_path: Path
) -> None:
    from ranklet.training.checkpoint import read_checkpoint

    checkpoints = {name: read_checkpoint(path) for name, path in built.checkpoints.items()}
    arrays = checkpoints["model1"].arrays
    less = {**arrays, "probability": arrays["probability"] * np.float32(0.5)}
    checkpoints["model1"] = replace(checkpoints["model1"], arrays=less)
    other = Path(export_bundle(checkpoints, tmp_path / "other"))
    bundle = indexed(other, [{"id": "e", "text": "five"}], tmp_path / "indexed", WHOLE)
    with pytest.raises(InputError, match=r"'model1' is not the same .* its tables differ"):
        merge([two[0], bundle], tmp_path / "merged")


def test_what_cannot_be_merged_is_refused(two: list[Path], built: "Built", tmp_path: Path) -> None:
    target: Any = tmp_path / "merged"
    for bundles in ([], two[:1], str(two[0])):
        with pytest.raises(InputError, match="two bundles or more"):
            merge(bundles, target)
    wrong: Any = "newest"
    with pytest.raises(InputError, match="allowed are none, first, last"):
        merge(two, target, prefer=wrong)
    with pytest.raises(BundleError, match="no collection"):
        merge([two[0], built.exported], target)
    with pytest.raises(BundleError, match="no bundle at"):
        merge([two[0], tmp_path / "missing"], target)
    assert not target.exists()
