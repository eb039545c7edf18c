"""Where a score comes from, laid on the text."""

import pytest

from ranklet.runtime import InputError
from ranklet.runtime.answers.explanation import Explanation, ReadSpans
from ranklet.runtime.answers.highlight import spans
from ranklet.runtime.bundle import Bundle


def sourced(explanation: Explanation) -> float:
    """Return how much of an explanation has a source."""
    own = explanation.value if explanation.source else 0.0
    return own + sum(sourced(part) for part in explanation.parts)


@pytest.mark.parametrize("query", ["rising dough", "oil a squeaking hinge", "wash windows café"])
def test_the_spans_add_up_to_what_has_a_source(bundle: Bundle, query: str) -> None:
    for hit in bundle.rank(query, k=5, explain=True):
        found = bundle.highlight(hit)
        assert hit.explanation is not None
        total = sum(span.value for span in found)
        assert total == pytest.approx(sourced(hit.explanation), rel=1e-9)
        assert total == pytest.approx(hit.score, rel=0.05)


def test_the_spans_stand_at_the_words(bundle: Bundle) -> None:
    (hit,) = bundle.rank(
        "café windows", [{"title": "Windows’ care", "text": "A CAFÉ; cafe\u0301s!"}], explain=True
    )
    whole = f"{hit.title}\n{hit.text}"
    marked = [whole[span.begin : span.end] for span in bundle.highlight(hit)]
    assert "CAFÉ" in marked
    assert "Windows" in "".join(marked)


def test_a_token_shares_its_amount_among_its_places(bundle: Bundle) -> None:
    explanation = Explanation("sum", 1.0, (Explanation("x", 1.0, source=("words", "dough")),))
    found = spans(explanation, "dough or dough", bundle.analysis)
    assert [(span.begin, span.end, span.value) for span in found] == [(0, 5, 0.5), (9, 14, 0.5)]


def test_only_an_explained_hit_has_spans(bundle: Bundle) -> None:
    with pytest.raises(InputError, match="explain=True"):
        bundle.highlight(bundle.rank("dough")[0])


def test_neighbouring_pieces_of_one_amount_are_one_span(bundle: Bundle) -> None:
    text = "dough squeaking dough"
    placed = list(bundle.analysis("wordpieces").placed(text, "wordpieces"))
    assert len(placed) > 3  # the tokenizer splits a word
    read = ReadSpans("wordpieces", ((0, len(placed)),))
    middle = [at for at, (begin, _, _) in enumerate(placed) if 6 <= begin < 15]
    pieces = tuple((at, 0.25) for at in middle)
    found = spans(Explanation("sum", 1.0, read=read, pieces=pieces), text, bundle.analysis)
    assert found == [(6, 15, 0.25 * len(middle))]
    uneven = tuple((at, float(at)) for at in middle)
    apart = spans(Explanation("sum", 1.0, read=read, pieces=uneven), text, bundle.analysis)
    assert [span.value for span in apart] == [float(at) for at in middle]
