from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.kinds import TinyRankers, reranked_by

from ranklet.runtime import load
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import BundleError
from ranklet.runtime.rankers.cross_encoder.explanation import FLOOR, SHOWN, explain_translations

PLACES = np.array([[-1, -1, -1, 0, 1, 2, -1], [-1, -1, -1, 3, -1, -1, -1]])
IDS = np.array([[2, 7, 3, 8, 9, 8, 3], [2, 7, 3, 9, 3, 0, 0]])


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


def test_many_pieces_are_added_up() -> None:
    ids = np.arange(20)[None]
    found = explain_translations(
        np.full((1, 1, 20), 0.01, np.float32), [1], ids, ids, lambda token: None, "all"
    )
    more = next(part for part in found.parts[0].parts if "more" in part.label)
    assert [piece for piece, _ in more.pieces] == [*range(SHOWN, 20)]
    assert sum(amount for _, amount in more.pieces) == pytest.approx(more.value)
    labels = [part.label for part in found.parts[0].parts]
    assert len(labels) == SHOWN + 2
    assert f"{20 - SHOWN} more → #1" in labels
    assert sum(part.value for part in found.parts[0].parts) == pytest.approx(log(0.01 + FLOOR))


def test_a_document_that_explains_nothing_has_the_floor() -> None:
    nothing = np.zeros((1, 2, 7), np.float32)
    found = explain_translations(nothing, [5, 6], IDS[:1], PLACES[:1], str, "all")
    assert found.value == pytest.approx(2 * log(FLOOR))


def test_a_graph_of_another_shape_is_refused() -> None:
    with pytest.raises(BundleError, match="explains 1 pieces of a query with 2"):
        explain_translations(translations(), [7, 8], IDS, PLACES, str, "all")


RERANK = reranked_by("cross")


def test_an_explanation_names_pieces_and_marked_words(cross_bundle: Bundle) -> None:
    explanation = cross_bundle.explain("red fruit", "apple-red", pipeline=RERANK)
    assert explanation.label == "cross-encoder model1, marked: red"
    assert {part.label.split(",")[0] for part in explanation.parts} == {"red", "fruit"}
    product = np.prod([float(part.label.split("P = ")[1]) for part in explanation.parts])
    assert np.log(product) == pytest.approx(explanation.value, abs=0.02)
    for part in explanation.parts:
        assert sum(each.value for each in part.parts) == pytest.approx(part.value)
        assert any("→" in each.label for each in part.parts)


def test_each_place_of_a_piece_has_what_the_network_found_there(cross_bundle: Bundle) -> None:
    query, text = "red fruit", "here river red here apple here"
    (hit,) = cross_bundle.rank(query, [text], pipeline=RERANK, explain=True)
    # Title and text are a line each, and there is no title.
    at_here = [
        span.value for span in cross_bundle.highlight(hit) if text[span.begin - 1 :][:4] == "here"
    ]
    assert len(at_here) == 3
    assert len({round(value, 6) for value in at_here}) > 1  # contextual: no two are alike


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
