"""The page of EPIC's scores: every piece of the query, pairs of pieces, and the expansion."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import Built
from tests.handlers.page.parsed import amount, check_tables, check_tree, shown

from ranklet.handlers.page.score_tree import groups
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.hits import Hit
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.rankers.epic import (
    DOCUMENT_ENCODER,
    EPIC,
    QUERY_ENCODER,
    EPICEncoders,
    EPICSettings,
)

if TYPE_CHECKING:
    from tests.handlers.page.parsed import Element

QUERY, TITLE, TEXT = "oil until water", "Kneading", "Knead the dough until it is smooth"
EXPANSION = {"water": 3.0, "with": 2.5, "and": 2.0}  # of any document; all are word pieces


class Encodes:
    """In place of EPIC's models: a query's pieces weigh 1, 2, …; the text's own have 4 each.

    Args:
        expanded: values of further terms by id.
        vocabulary: number of terms.
    """

    provider, on_gpu, workers, by_length = "none", False, 1, False
    outputs: tuple[str, ...] = ()

    def __init__(self, expanded: dict[int, float], vocabulary: int) -> None:
        self._expanded, self._vocabulary = expanded, vocabulary

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        ids = feeds["input_ids"]
        if output == QUERY_ENCODER.output:
            return np.arange(1, ids.size + 1, dtype=np.float32)[None, :]
        found = np.zeros((1, self._vocabulary), np.float32)
        for term, value in self._expanded.items():
            found[0, term] = value
        found[0, ids[0]] = 4
        return found


@pytest.fixture(scope="module")
def hit(bundle: Bundle, built: Built) -> Hit:
    tokenizer = BundleFiles(built.fused).analyzer.tokenizer
    size = tokenizer.get_vocab_size()
    pieces = tokenizer.get_vocab()
    model = Encodes({pieces[word]: value for word, value in EXPANSION.items()}, size)
    encoders = EPICEncoders(
        EPICSettings(vocabulary=size, kept=200),
        lambda: Encoder(model, QUERY_ENCODER.output, tokenizer, size),
        lambda: Encoder(model, DOCUMENT_ENCODER.output, tokenizer, size),
        tokenizer,
        lambda _: np.ones(size, np.float32),
    )
    ranker = EPIC(encoders, BundleFiles(built.fused), "epic")
    analysis = bundle.analysis("wordpieces")
    context, own = QueryContext(QUERY, analysis), TextCandidates([f"{TITLE}\n{TEXT}"], analysis)
    (score,) = ranker.score(context, own).values.tolist()
    found = ranker.explain(context, own)
    assert found.value == pytest.approx(score)
    return Hit("x", score, TITLE, TEXT, 0, found)


@pytest.fixture(scope="module")
def card(bundle: Bundle, hit: Hit) -> "Element":
    return shown(bundle, QUERY, [hit]).one("li", "hit")


def test_every_piece_of_the_query_has_a_button_also_one_without_impact(
    bundle: Bundle, card: "Element"
) -> None:
    wanted = [piece for _, _, piece in bundle.analysis("wordpieces").placed(QUERY, "wordpieces")]
    buttons = list(card.all("button"))
    assert [str(each.children[0]) for each in buttons] == wanted  # in the query's order
    assert wanted == ["oil", "until", "water"]
    assert [amount(each) for each in buttons] == [0, 2 * 4, 3 * EXPANSION["water"]]


def test_the_parts_add_up_and_the_pairs_are_in_a_table(card: "Element", hit: Hit) -> None:
    root = card.one("div", "why").one("ul")
    assert check_tree(root.one("li")) == pytest.approx(hit.score)
    check_tables(card)
    (table,) = card.all("table")
    assert [each.text for each in table.one("thead").all("th")] == ["", "sum", "until", "others"]
    assert len(list(table.one("tbody").all("tr"))) == 3


def test_only_what_stands_in_the_text_is_marked(card: "Element") -> None:
    assert [each.text for each in card.all("mark")] == ["until"]


def test_the_strongest_expansion_is_shown_and_adds_nothing(card: "Element", hit: Hit) -> None:
    assert hit.explanation is not None
    part = hit.explanation.parts[-1]
    assert part.label == "not in the text: its strongest expansion"
    assert [each.label for each in part.parts] == [
        f"{word}: impact {value:.3f}" for word, value in EXPANSION.items()
    ]
    assert "with: impact 2.500" in card.one("div", "why").text


def test_there_is_one_group(bundle: Bundle, hit: Hit) -> None:
    (group,) = groups(bundle, QUERY, hit)
    assert group.label == "EPIC"
