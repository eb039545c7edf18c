"""A cross-encoder in a bundle: a pair has one score, however pairs are put together."""

import shutil
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.damage import with_settings
from tests.kinds import TinyRankers, opened, reranked_by

from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.cross_encoder.ranker import FLOOR, CrossEncoder, explain_translations
from ranklet.runtime.rankers.opening import open_ranker

RERANK = reranked_by("cross")

PLACES = np.array([[-1, -1, -1, 0, 1, 2, -1], [-1, -1, -1, 3, -1, -1, -1]])
IDS = np.array([[2, 7, 3, 8, 9, 8, 3], [2, 7, 3, 9, 3, 0, 0]])


@pytest.fixture
def ranker(cross_path: Path) -> CrossEncoder:
    return opened(cross_path, "cross", CrossEncoder)


def test_documents_of_the_collection_are_not_cut_into_pieces_again(
    cross_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ranklet.runtime.text.analysis import Analyzer

    asked = []
    real = Analyzer.wordpieces

    def counted(self: Analyzer, texts: list[str], *more: Any) -> object:
        asked.append(texts)
        return real(self, texts, *more)

    monkeypatch.setattr(Analyzer, "wordpieces", counted)
    load(cross_path, device="cpu").rank("the red apple", pipeline=RERANK)
    assert asked == [["the red apple"]]


def test_a_likelihood_is_scaled_by_the_querys_length(ranker: CrossEncoder) -> None:
    query = QueryContext("the red apple", ranker.analyzer.begin())
    assert ranker.scale(query) == pytest.approx(1 / 3)


def test_a_graph_of_another_shape_is_refused(cross_path: Path, ranker: CrossEncoder) -> None:
    class Broken:
        provider, on_gpu, workers, by_length = "", False, 1, False
        outputs: tuple[str, ...] = ()

        def run(self, output: str, feeds: dict[str, Any]) -> Any:
            return np.array([np.nan], np.float32)

    query = QueryContext("red", ranker.analyzer.begin())
    broken = CrossEncoder(ranker.settings, Broken(), BundleFiles(cross_path).tokenizer())
    with pytest.raises(BundleError, match="a finite score per pair"):
        broken.score(query, TextCandidates(["red"], query.analysis))


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("head", "other", "head is 'other'"),
        ("chunks", 10**9, "chunks is 1000000000"),
        ("marking", None, "marking is None"),
        ("surprise", 1, "unknown setting 'surprise'"),
    ],
)
def test_damaged_settings_are_refused(
    cross_path: Path, tmp_path: Path, setting: str, value: Any, message: str
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(cross_path, damaged)
    with_settings(damaged, "cross", **{setting: value})
    with pytest.raises(BundleError, match=message):
        open_ranker(BundleFiles(damaged), "cross")


def test_word_pieces_that_no_model_knows_are_refused(cross_path: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(cross_path, damaged)
    pieces = np.load(damaged / "documents/wordpieces.npy")
    np.save(damaged / "documents/wordpieces.npy", np.full_like(pieces, 60_000))
    with pytest.raises(BundleError, match="past the"):
        load(damaged, device="cpu").rank("the red apple", pipeline=RERANK)


def translations() -> NDArray[np.float32]:
    found = np.zeros((2, 1, 7), np.float32)
    found[0, 0, 3:6] = 0.5, 0.1, 0.3  # pieces 8, 9, 8
    found[1, 0, 3] = 0.2  # piece 9
    return found


def test_by_hand() -> None:
    found = explain_translations(translations(), [7], IDS, PLACES, lambda token: f"t{token}", "all")
    likelihood = (0.5 + 0.1 + 0.3 + 0.2) / 4 + FLOOR
    (piece,) = found.parts
    assert found.value == pytest.approx(log(likelihood))
    assert piece.label == "t7, P = 0.275"
    by_label = {part.label: part.value for part in piece.parts}
    gained = log(likelihood / FLOOR)
    assert by_label["of any document"] == pytest.approx(log(FLOOR))
    assert by_label["t8 → t7"] == pytest.approx(gained * 0.8 / 1.1)
    assert by_label["t9 → t7"] == pytest.approx(gained * 0.3 / 1.1)
    assert piece.query_token == ("wordpieces", "t7")
    assert {part.source for part in piece.parts} == {
        None, ("wordpieces", "t8"), ("wordpieces", "t9")
    }  # fmt: skip
    assert exp(found.value) == pytest.approx(likelihood)
    # Each place has what the network found there; together they are the token's amount.
    standing = {part.label: dict(part.pieces) for part in piece.parts}
    assert standing["t8 → t7"] == pytest.approx({0: gained * 0.5 / 1.1, 2: gained * 0.3 / 1.1})
    assert standing["t9 → t7"] == pytest.approx({1: gained * 0.1 / 1.1, 3: gained * 0.2 / 1.1})
    assert standing["of any document"] == {}


def test_an_explanation_names_pieces_and_marked_words(cross_bundle: Bundle) -> None:
    explanation = cross_bundle.explain("red fruit", "apple-red", pipeline=RERANK)
    assert explanation.label == "cross-encoder model1, marked: red"
    assert {part.label.split(",")[0] for part in explanation.parts} == {"red", "fruit"}
    product = np.prod([float(part.label.split("P = ")[1]) for part in explanation.parts])
    assert np.log(product) == pytest.approx(explanation.value, abs=0.02)
    for part in explanation.parts:
        assert sum(each.value for each in part.parts) == pytest.approx(part.value)
        assert any("→" in each.label for each in part.parts)


@pytest.mark.slow
@pytest.mark.parametrize("head", ["model1", "cedr_pacrr"])
def test_an_expansion_is_no_word_of_the_query(tiny: TinyRankers, tmp_path: Path, head: str) -> None:
    checkpoint = tiny.checkpoint("cross_encoder", head=head, expansion="mask", max_query_tokens=12)
    loaded = load(
        tiny.build(tmp_path, {"bm25": tiny.checkpoint("bm25"), "cross": checkpoint}), device="cpu"
    )
    (hit,) = loaded.rank("red fruit", ["red apple"], pipeline=RERANK, explain=True)
    assert hit.explanation is not None
    if head == "model1":
        assert {part.query_token for part in hit.explanation.parts} == {
            ("wordpieces", "red"), ("wordpieces", "fruit")
        }  # fmt: skip
