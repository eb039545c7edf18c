"""Which tokens a ColBERT reads, and which of them get a vector."""

from typing import TYPE_CHECKING, Any

import pytest

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import TokenLayout

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@pytest.fixture
def marked(tiny_tokenizer: "Tokenizer") -> "Tokenizer":
    """Return the tiny tokenizer with two markers."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_str(tiny_tokenizer.to_str())
    made.add_special_tokens(["[Q]", "[D]"])
    return made


def layout(tokenizer: "Tokenizer", **settings: Any) -> TokenLayout:
    markers = {"query_marker": "[Q]", "document_marker": "[D]"}
    return TokenLayout(ColBERTSettings(**{"max_query_tokens": 8, **markers, **settings}), tokenizer)


def spelled(tokenizer: "Tokenizer", ids: list[int]) -> str:
    return " ".join(tokenizer.id_to_token(each) or "?" for each in ids)


def test_a_marker_follows_the_first_special_token(marked: "Tokenizer") -> None:
    (query,), cut = layout(marked).rows(["red apple"], "query")
    (document,), _ = layout(marked).rows(["red apple"], "document")
    assert spelled(marked, query.ids) == "[CLS] [Q] red apple [SEP]"
    assert spelled(marked, document.ids) == "[CLS] [D] red apple [SEP]"
    assert (query.own, query.attended, query.kept, cut) == (5, 5, [0, 1, 2, 3, 4], [])


@pytest.mark.parametrize(("expansion", "attended"), [("unattended", 5), ("attended", 8)])
def test_an_expansion_fills_queries_and_no_document(
    marked: "Tokenizer", expansion: str, attended: int
) -> None:
    made = layout(marked, expansion=expansion)
    (query,), _ = made.rows(["red apple"], "query")
    assert spelled(marked, query.ids[5:]) == "[MASK] [MASK] [MASK]"
    assert (query.own, query.attended, query.kept) == (5, attended, list(range(8)))
    (document,), _ = made.rows(["red apple"], "document")
    assert len(document.ids) == 5


def test_a_limit_counts_the_marker_and_keeps_the_last_special_token(marked: "Tokenizer") -> None:
    rows, cut = layout(marked, expansion="attended").rows(["red " * 6, "red " * 4], "query")
    assert cut == [0]
    assert [spelled(marked, row.ids[-2:]) for row in rows] == ["red [SEP]", "[SEP] [MASK]"]
    assert [len(row.ids) for row in rows] == [8, 8]


def test_without_special_tokens_the_text_and_the_expansion_have_vectors(
    marked: "Tokenizer",
) -> None:
    made = layout(marked, special_tokens=False, expansion="unattended")
    assert made.rows(["red apple"], "query")[0][0].kept == [2, 3, 5, 6, 7]
    assert made.rows(["red apple", ""], "document")[0][0].kept == [2, 3]
    assert made.rows([""], "document")[0][0].kept == []


def test_skipped_tokens_of_documents_have_no_vector(marked: "Tokenizer") -> None:
    made = layout(marked, skipped="red nowhere")
    assert made.rows(["red apple red"], "document")[0][0].kept == [0, 1, 3, 5]
    assert made.rows(["red apple red"], "query")[0][0].kept == [0, 1, 2, 3, 4, 5]


def test_tokens_are_those_of_the_row_and_a_prompt_stands_before_the_text(
    marked: "Tokenizer",
) -> None:
    made = layout(marked, query_prompt="old ", expansion="unattended")
    text = "red apple"
    (row,), _ = made.rows([text], "query")
    tokens = made.tokens(text, "query")
    assert [token.id for token in tokens] == row.ids
    of_text = [token for token in tokens if not token.special and token.end > 0]
    assert [text[token.begin : token.end] for token in of_text] == ["red", "apple"]
    assert [token.spelling for token in tokens if token.end < 0 and not token.special] == ["old"]


def test_a_token_that_is_missing_is_named(tiny_tokenizer: "Tokenizer") -> None:
    with pytest.raises(InputError, match=r"no token '\[Q\]'"):
        layout(tiny_tokenizer)
    without = {"query_marker": "", "document_marker": "", "expansion_token": "mask"}
    with pytest.raises(InputError, match="no token 'mask'"):
        layout(tiny_tokenizer, expansion="attended", **without)
