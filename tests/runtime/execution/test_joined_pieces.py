"""Explanations name words, not pieces of words, and neither sums nor marks change by that."""

from collections import defaultdict
from typing import Any

import pytest
from tests.explanations import check_sums, leaves

from ranklet.runtime.answers.explanation import Explanation, ReadSpans
from ranklet.runtime.answers.highlight import spans
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.execution.joined_pieces import join_pieces
from ranklet.runtime.rankers.opening import open_ranker

QUERY = "oil the squeaking hinges of a sourdough cupboard"
DOCUMENT = "Squeaking hinges need oil. A cupboard squeaks because of its hinges, not of sourdough."


def by_character(explanation: Explanation, text: str, bundle: Bundle) -> dict[int, float]:
    """Return what each character adds, where a span's characters share its amount."""
    amounts: dict[int, float] = defaultdict(float)
    for begin, end, value in spans(explanation, text, bundle.analysis):
        for at in range(begin, end):
            amounts[at] += value / (end - begin)
    return amounts


def labels(explanation: Explanation) -> list[str]:
    return [explanation.label, *(label for part in explanation.parts for label in labels(part))]


@pytest.mark.parametrize("ranker", ["bm25_pieces", "model1_pieces"])
def test_words_replace_pieces_and_nothing_else(bundle: Bundle, ranker: str) -> None:
    stages: list[dict[str, Any]] = [
        {"stage": "retrieve", "ranker": "bm25", "k": 9},
        {"stage": "rescore", "ranker": ranker},
    ]
    (hit,) = bundle.rank(QUERY, [DOCUMENT], k=1, pipeline=stages, explain=True)
    joined = hit.explanation
    assert joined is not None
    assert joined.value == pytest.approx(hit.score, abs=1e-5)
    check_sums(joined)
    assert not any("##" in label for label in labels(joined))
    names = {part.query_token[1] for part in joined.parts if part.query_token}
    assert {"squeaking", "hinges", "oil"} <= names <= set(QUERY.split())
    analysis = bundle.analysis("wordpieces")
    candidate = TextCandidates([DOCUMENT], analysis)
    pieces = open_ranker(bundle.files, ranker).explain(QueryContext(QUERY, analysis), candidate)
    assert any("##" in label for label in labels(pieces))  # the tokenizer splits some words
    before, after = (by_character(each, DOCUMENT, bundle) for each in (pieces, joined))
    for at in before.keys() | after.keys():
        assert after[at] == pytest.approx(before[at], abs=1e-9)


def test_chunks_keep_their_parts_and_what_they_read(bundle: Bundle) -> None:
    analysis = bundle.analysis("wordpieces")
    placed = [piece for _, _, piece in analysis.placed("squeaking", "wordpieces")]
    assert len(placed) > 1
    read = ReadSpans("wordpieces", ((0, len(placed)),))
    of_pieces = []
    for at, piece in enumerate(placed):
        token = ("wordpieces", piece)
        leaf = Explanation(f"{piece} → {piece}", 1.0, source=token, pieces=((at, 1.0),))
        rest = [Explanation("of any document", -3.0), Explanation(f"{at + 2} more → {piece}", 0.5)]
        whole = Explanation.total(f"{piece}, P = 0.1", [leaf, *rest])
        of_pieces.append(Explanation(whole.label, whole.value, whole.parts, query_token=token))
    chunk = Explanation.total("chunk 1", of_pieces)
    chunk = Explanation(chunk.label, chunk.value, chunk.parts, read=read)
    root = Explanation("mean of chunks", chunk.value, (chunk,), read=read)
    joined = join_pieces(root, "squeaking", TextCandidates(["squeaking"], analysis), analysis)
    check_sums(joined)
    assert joined.value == root.value
    ((word,),) = (part.parts for part in joined.parts)
    assert (word.label, word.query_token) == ("squeaking", ("wordpieces", "squeaking"))
    found = {leaf.label: leaf.value for leaf in leaves(word)}
    count = len(placed)
    assert found == {
        "of any document": -3.0 * count,
        "squeaking → squeaking": count,
        "others → squeaking": 0.5 * count,
    }
    assert joined.parts[0].read == read
