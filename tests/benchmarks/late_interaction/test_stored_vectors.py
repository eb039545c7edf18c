"""Stored forms of token vectors: what is compared with 32 bits."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.export.rankers.colbert.stored_forms import float_scores
from ranklet.training.data.splits import JudgedQuery

forms = pytest.importorskip("benchmarks.late_interaction.stored_vectors")
token_vectors = pytest.importorskip("benchmarks.built.token_vectors")

LENGTHS = [5, 1, 0, 8]


def drawn() -> tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]]:
    """Return unit vectors of queries and of documents."""
    rng = np.random.default_rng(0)
    texts = [rng.normal(size=(size, 16)).astype(np.float32) for size in (3, 4, *LENGTHS)]
    texts = [own / np.linalg.norm(own, axis=1, keepdims=True) for own in texts]
    return texts[:2], texts[2:]


@pytest.mark.parametrize(("form", "error"), [("float32", 5e-3), ("int16", 5e-3), ("int8", 0.1)])
def test_a_form_scores_nearly_as_32_bits_do(form: str, error: float) -> None:
    queries, documents = drawn()
    blocks = [
        (np.array(LENGTHS[:2]), np.concatenate(documents[:2])),
        (np.array(LENGTHS[2:]), np.concatenate(documents[2:])),
    ]
    store = forms.stored(blocks, form)
    everything = np.arange(len(documents))
    scores = [store.scores(forms.query_of(query, form), everything) for query in queries]
    np.testing.assert_allclose(scores, float_scores(queries, documents), atol=error)


def test_tokens_of_one_document_share_vectors() -> None:
    _, documents = drawn()
    store = forms.stored([(np.array(LENGTHS), np.concatenate(documents))], "int8-pooled")
    assert np.diff(store.offsets).tolist() == [3, 1, 0, 4]


def test_the_size_of_32_bits_has_no_factors() -> None:
    _, documents = drawn()
    blocks = [(np.array(LENGTHS), np.concatenate(documents))]
    count, offsets = sum(LENGTHS), 8 * (len(LENGTHS) + 1)
    sizes = {form: forms.size_of(forms.stored(blocks, form), form) for form in ("float32", "int8")}
    assert sizes["float32"] == (count * 16 * 4 + offsets) / len(LENGTHS)
    assert sizes["int8"] == (count * (16 + 4) + offsets) / len(LENGTHS)


def test_documents_that_are_no_candidates_count_in_the_ideal() -> None:
    found = token_vectors.Ranked(
        [JudgedQuery("1", "", {"b": 1, "z": 1})],
        ["a", "b", "z"],
        ["", "", ""],
        [np.array([0, 1])],
        [np.zeros(2, np.float32)],
    )
    values = forms.measured([np.array([1, 2], np.float32)], found)
    np.testing.assert_allclose(values["MRR@10"], [1])
    np.testing.assert_allclose(values["nDCG@10"], [1 / (1 + 1 / np.log2(3))])


def test_a_loss_is_relative_and_has_an_interval() -> None:
    best, own = np.array([0.5, 1.0, 0.75, 0.75]), np.array([0.5, 0.9, 0.75, 0.7])
    measure = forms.MEASURES[0]
    found = {
        forms.REFERENCE: forms.Form(1, {measure: best}), "int8": forms.Form(1, {measure: own})
    }  # fmt: skip
    lost, margin = forms.loss(found, "int8", measure)
    assert lost == pytest.approx(5)
    assert margin == pytest.approx(100 * 1.96 * np.std(best - own, ddof=1) / 2 / 0.75)
