"""A ColBERT in a bundle: stored vectors, own texts, and damaged files."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.damage import Change, change_array, put
from tests.explanations import check_sums
from tests.kinds import ROWS, TinyRankers, reranked_by, retrieved_by

from ranklet.runtime.answers.explanation import ReadSpans
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.colbert.ranker import explain_matches
from ranklet.runtime.rankers.colbert.tokens import Row
from ranklet.runtime.rankers.verification import verify
from ranklet.runtime.text.tokenizing import TextToken

# Kinds and their rankers whose scores are MaxSim.
RANKERS = [(kind, name) for kind in ("colbert", "srm") for name in ROWS[kind].rankers]

FIELD = "rankers/x"


def test_a_deadline_leaves_the_rest_unscored(tiny: TinyRankers) -> None:
    hits = tiny.bundle("colbert").rank("red stream", pipeline=reranked_by("colbert"), budget_ms=0)
    assert hits.budget_spent
    assert hits.left_out


def test_the_scale_is_one_over_the_number_of_query_vectors(tiny: TinyRankers) -> None:
    bundle, pipeline = tiny.bundle("colbert"), retrieved_by("expanded")
    ids, features = bundle.features("red stream", pipeline=pipeline)
    scores = bundle.score("red stream", ids=ids, pipeline=pipeline)
    # Its queries always have 12 tokens.
    np.testing.assert_allclose(features["expanded"], scores / 12, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("colbert", "scales", put(np.nan), "not finite and above 0"),
        ("colbert", "scales", put(np.inf, -1), "not finite and above 0"),
        ("colbert", "scales", put(0.0), "not finite and above 0"),
        ("colbert", "scales", put(-1.0), "not finite and above 0"),
        ("colbert", "scales", lambda held: held[:-1], "scales"),
        ("colbert", "scales", lambda held: held.astype(np.float64), "scales"),
        ("colbert", "values", lambda held: held[:, :-1], "values"),
        ("colbert", "values", lambda held: held[:-1], "values"),
        ("colbert", "values", lambda held: held.astype(np.int16), "values"),
        ("expanded", "values", put(32_000), "too long for exact products"),
        ("colbert", "offsets", put(1), "begin with 0"),
        ("colbert", "offsets", put(-5, 3), "never decrease"),
        ("colbert", "offsets", put(10**12, -1), "values"),
        ("colbert", "offsets", lambda held: held[:-1], "offsets"),
    ],
)
def test_verify_finds_damaged_vectors(
    tiny: TinyRankers, tmp_path: Path, name: str, file: str, change: Change, message: str
) -> None:
    victim = Path(shutil.copytree(tiny.indexed("colbert"), tmp_path / "victim"))
    change_array(victim, f"rankers/{name}/vectors.{file}.npy", change)
    with pytest.raises(BundleError, match=message):
        list(verify(victim))


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
    found = explain_matches(FIELD, query, row(query, 4), document, range(6), similarities)
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


def test_a_prompt_has_a_part_of_its_own() -> None:
    query, document = tokens("ask red"), tokens("say old tree")
    query[1], document[1] = (each._replace(begin=-4, end=-1) for each in (query[1], document[1]))
    similarities = np.array([[0.0, 0.0], [0.3, 0.1], [0.1, 0.8], [0.0, 0.0]], np.float32)
    found = explain_matches(FIELD, query, row(query, 4), document, [1, 2], similarities)
    red, prompt, _ = found.parts
    (leaf,) = red.parts
    assert (leaf.label, leaf.pieces[0][0]) == ("old → red", 0)
    assert leaf.value == pytest.approx(0.8)
    assert prompt.label.startswith("prompt of the query (1): ask")
    assert prompt.parts[0].label == "the prompt → ask"


@pytest.mark.parametrize("name", ["colbert", "expanded", "dot"])
def test_marks_stand_on_the_words_that_were_found(tiny: TinyRankers, name: str) -> None:
    bundle = tiny.bundle("colbert")
    for hit in bundle.rank("quiet stream", k=5, pipeline=retrieved_by(name), explain=True):
        assert hit.explanation is not None
        spans = bundle.highlight(hit)
        assert spans
        placed = sum(span.value for span in spans)
        outside = hit.score - placed  # matches of special tokens stand nowhere
        assert (abs(outside) < 1e-4) if name == "dot" else (outside > -1e-4)
