"""An explanation of MaxSim names the token that each token of the query found."""

import numpy as np
import pytest
from tests.explanations import check_sums
from tests.kinds import TinyRankers, retrieved_by

from ranklet.runtime.explanation import ReadSpans
from ranklet.runtime.onnx.tokens import TextToken
from ranklet.runtime.rankers.colbert.explanation import NOTHING, explain_matches
from ranklet.runtime.rankers.colbert.tokens import Row

FIELD = "rankers/x"


def tokens(text: str, *, expansion: int = 0) -> list[TextToken]:
    """Return [CLS], the words of a text, [SEP] and an expansion."""
    cls, sep, mask = (TextToken(0, 0, 0, name, True) for name in ("[CLS]", "[SEP]", "[MASK]"))
    words, begin = [], 0
    for word in text.split():
        words.append(TextToken(1, begin, begin + len(word), word, False))
        begin += len(word) + 1
    return [cls, *words, sep, *[mask] * expansion]


def row(made: list[TextToken], own: int) -> Row:
    return Row([token.id for token in made], own, own, list(range(len(made))))


def test_each_token_of_the_query_has_a_part_with_what_it_found() -> None:
    query, document = tokens("red apple", expansion=1), tokens("an apple tree apple")
    similarities = np.array(
        [
            [0.5, 0.1, 0.1, 0.1, 0.1, 0.1],  # [CLS] finds [CLS]
            [0.0, 0.2, 0.1, 0.4, 0.1, 0.1],  # red finds tree
            [0.0, 0.2, 0.8, 0.4, 0.9, 0.1],  # apple finds the second apple
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.2],  # [SEP] finds [SEP]
            [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],  # [MASK] finds the first apple
        ],
        np.float32,
    )
    groups = [[at] for at in range(6)]
    found = explain_matches(FIELD, query, row(query, 4), document, groups, similarities)
    check_sums(found)
    assert found.value == pytest.approx(2.5)
    assert found.read == ReadSpans(FIELD, ((0, 4),))
    assert [part.label for part in found.parts] == [
        "apple",
        "special tokens of the query (2): [CLS] [SEP], 28% of the score",
        "expansion of the query (1): [MASK], 20% of the score",
        "red",
    ]
    apple, special, expansion, red = found.parts
    assert [part.query_token for part in (apple, red)] == [(FIELD, "apple"), (FIELD, "red")]
    (leaf,) = apple.parts
    assert (leaf.label, leaf.source) == ("apple → apple", (FIELD, "apple"))
    assert leaf.pieces == ((3, leaf.value),)  # the second apple, the fourth word
    assert [leaf.label for leaf in special.parts] == ["[CLS] → [CLS]", "[SEP] → [SEP]"]
    assert all(leaf.source is None for leaf in special.parts)
    assert expansion.parts[0].pieces == ((1, expansion.value),)
    assert red.parts[0].label == "tree → red"


def test_tokens_that_share_a_vector_share_the_amount_and_a_prompt_has_its_own_part() -> None:
    query, document = tokens("ask red"), tokens("say old tree")
    query[1], document[1] = (each._replace(begin=-4, end=-1) for each in (query[1], document[1]))
    similarities = np.array([[0.0, 0.0], [0.3, 0.1], [0.1, 0.8], [0.0, 0.0]], np.float32)
    found = explain_matches(FIELD, query, row(query, 4), document, [[1], [2, 3]], similarities)
    red, prompt, _ = found.parts
    assert [(leaf.label, leaf.pieces[0][0]) for leaf in red.parts] == [
        ("old → red", 0), ("tree → red", 1)
    ]  # fmt: skip
    assert [leaf.value for leaf in red.parts] == pytest.approx([0.4, 0.4])
    assert prompt.label.startswith("prompt of the query (1): ask")
    assert prompt.parts[0].label == "the prompt → ask"


def test_without_a_vector_there_is_one_amount_of_0() -> None:
    query = tokens("red")
    found = explain_matches(FIELD, query, row(query, 3), [], [], np.zeros((3, 0), np.float32))
    assert (found.label, found.value, found.parts) == (NOTHING, 0.0, ())


@pytest.mark.parametrize("name", ["colbert", "expanded", "pooled"])
def test_marks_stand_on_the_words_that_were_found(tiny: TinyRankers, name: str) -> None:
    bundle = tiny.bundle("colbert")
    for hit in bundle.rank("quiet stream", k=5, pipeline=retrieved_by(name), explain=True):
        assert hit.explanation is not None
        spans = bundle.highlight(hit)
        assert spans
        placed = sum(span.value for span in spans)
        outside = hit.score - placed  # matches of special tokens stand nowhere
        assert (abs(outside) < 1e-4) if name == "pooled" else (outside > -1e-4)
