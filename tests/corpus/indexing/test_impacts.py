"""Learned sparse vectors in the impact index, in all forms, against plain sums."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.indexing.impacts import in_fewer_bits, index_rows, storage_loss
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import Manifest
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.lexical.impact_index import ImpactIndex

Triples = list[tuple[int, int, float]]
FORMS = ("float32", "float16", "uint8")


def columns(triples: Triples) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    return (
        np.array([document for document, _, _ in triples], np.int64),
        np.array([term for _, term, _ in triples], np.int64),
        np.array([impact for _, _, impact in triples], np.float64),
    )


def index_of_triples(
    documents: NDArray[np.integer],
    terms: NDArray[np.integer],
    impacts: NDArray[np.floating],
    vocabulary: int,
    size: int,
    form: str = "float32",
) -> ImpactIndex:
    """Build an index of (document, term, impact) in any order."""
    order = np.argsort(documents, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(documents, minlength=size))])
    exact = index_rows(offsets.astype(np.int64), terms[order], impacts[order], vocabulary)
    return in_fewer_bits(exact, form)


def dense(index: ImpactIndex) -> NDArray[np.float32]:
    """Return what the index says, (documents, terms)."""
    found = np.zeros((index.size, len(index.offsets) - 1), np.float32)
    for term in range(found.shape[1]):
        documents, impacts = index.postings(term)
        found[documents, term] = impacts.astype(np.float32) * np.float32(index.term_scale(term))
    return found


def random_triples(rng: np.random.Generator, documents: int, terms: int) -> Triples:
    held = np.argwhere(rng.random((documents, terms)) < rng.random(terms) ** 2)
    impacts = rng.gamma(1.0, 1.0, len(held))
    rows = [(int(d), int(t), float(i)) for (d, t), i in zip(held, impacts, strict=True)]
    return [rows[at] for at in rng.permutation(len(rows))]


@pytest.mark.parametrize("form", FORMS)
def test_the_index_holds_what_it_was_given(form: str) -> None:
    triples = [(2, 0, 1.5), (0, 3, 0.25), (2, 3, 4.0), (1, 1, 0.0), (0, 0, 2.0)]
    index = index_of_triples(*columns(triples), vocabulary=5, size=4, form=form)
    wanted = np.zeros((4, 5))
    for document, term, impact in triples:
        wanted[document, term] = impact
    np.testing.assert_allclose(dense(index), wanted, atol=4 / 255 / 2 if form == "uint8" else 0)
    assert index.offsets.tolist() == [0, 2, 2, 2, 4, 4]  # the impact of 0 is no posting
    assert index.impacts.dtype == np.dtype(form)
    index.verify("the ranker")


@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 10_000))
def test_retrieval_is_the_dot_product_with_the_stored_vectors(form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, vocabulary = int(rng.integers(1, 300)), int(rng.integers(1, 12))
    triples = random_triples(rng, size, vocabulary)
    index = index_of_triples(*columns(triples), vocabulary, size, form)
    terms = rng.permutation(vocabulary)[: int(rng.integers(0, vocabulary + 1))].astype(np.int32)
    weights = rng.gamma(1.0, 1.0, len(terms)).astype(np.float32) * (rng.random(len(terms)) < 0.8)
    exact = dense(index).astype(np.float64)[:, terms] @ weights.astype(np.float64)
    k = int(rng.integers(1, size + 2))
    documents, scores = index.retrieve(terms, weights.astype(np.float32), k)
    assert len(documents) == min(k, int((exact > 0).sum()))
    np.testing.assert_allclose(scores, np.sort(exact)[::-1][: len(scores)], rtol=1e-5)
    np.testing.assert_allclose(scores, exact[documents], rtol=1e-5)
    index.verify("the ranker")
    found = index.matrix(terms, np.arange(size, dtype=np.uint32))
    np.testing.assert_allclose(weights @ found, exact, rtol=1e-5, atol=1e-6)


def test_no_document_and_no_impact_is_an_index_that_finds_nothing() -> None:
    nothing = np.empty(0, np.int64)
    index = index_of_triples(nothing, nothing, nothing.astype(np.float32), 3, 2, "uint8")
    index.verify("empty")
    assert not len(index.retrieve(np.array([0], np.int32), np.ones(1, np.float32), 5)[0])


def of_one_term(impacts: NDArray[np.floating], form: str = "float32") -> ImpactIndex:
    count = len(impacts)
    return index_of_triples(np.arange(count), np.zeros(count, int), impacts, 1, count, form)


def test_fewer_bits_lose_more_and_the_loss_is_returned() -> None:
    def loss(impacts: NDArray[np.floating], form: str) -> float:
        return storage_loss(of_one_term(impacts), of_one_term(impacts, form))

    impacts = np.random.default_rng(0).gamma(1.0, 1.0, 10_000)
    exact, half, byte = (loss(impacts, form) for form in FORMS)
    assert exact < 1e-7 < half < 5e-4 < byte < 0.02
    # By hand: 255 steps up to 2.55 are of 0.01; 0.004 gains 0.006, 0.996 gains 0.004.
    lost = loss(np.array([2.55, 0.996, 0.004]), "uint8")
    assert lost == pytest.approx(0.010 / 3.55, rel=1e-3)


def test_the_steps_of_8_bits_are_those_of_the_term() -> None:
    triples = [(0, 0, 100.0), (1, 0, 50.2), (0, 1, 0.01), (1, 1, 0.002)]
    index = index_of_triples(*columns(triples), 2, 2, "uint8")
    assert index.impacts.tolist() == [255, 128, 255, 51]
    asked = np.array([[50.0], [0.0035], [7.0]], np.float32)
    rounded = index.rounded(asked, np.array([0, 1, 9], np.int32))  # a text's, the last unknown
    np.testing.assert_allclose(rounded[:, 0], [128 * 100 / 255, 89 * 0.01 / 255, 7], rtol=1e-6)


@pytest.mark.parametrize("impact", [-1.0, np.nan, np.inf])
def test_an_impact_that_is_not_finite_and_positive_is_refused(impact: float) -> None:
    with pytest.raises(InputError):
        of_one_term(np.array([1.0, impact]))


def test_impacts_that_cannot_be_stored_are_refused() -> None:
    with pytest.raises(InputError, match=r"70000.* too large for float16"):
        of_one_term(np.array([70_000.0]), "float16")
    with pytest.raises(InputError, match="dtype is 'int4'; allowed are float32, float16, uint8"):
        of_one_term(np.ones(1), "int4")
    one = np.array([0]), np.array([0]), np.ones(1)
    with pytest.raises(InputError, match="past the vocabulary"):
        index_of_triples(one[0], np.array([2]), one[2], 2, 1)
    twice = np.array([0, 0]), np.array([1, 1]), np.ones(2)
    with pytest.raises(InputError, match="a term twice"):
        index_of_triples(*twice, 2, 1)


def written(index: ImpactIndex, folder: Path, **others: NDArray[np.generic]) -> BundleFiles:
    """Write an index into a bundle, some of its arrays replaced."""
    with BundleWriter(folder) as writer:
        writer.index("rankers/sparse/", index)
        for name, values in others.items():
            writer.array(f"rankers/sparse/{name}.npy", values)
        writer.finish(Manifest(documents=index.size))
    return BundleFiles(folder)


@pytest.mark.parametrize("form", FORMS)
def test_a_bundle_gives_back_the_index(form: str, tmp_path: Path) -> None:
    made = index_of_triples(*columns(random_triples(np.random.default_rng(2), 40, 6)), 6, 40, form)
    bundle = written(made, tmp_path / "b")
    found = ImpactIndex.open(bundle, "rankers/sparse/", 6)
    assert found.impacts.dtype == np.dtype(form)
    np.testing.assert_array_equal(dense(found), dense(made))
    found.verify("the ranker")
    others = [each for each in FORMS if each != form]
    with pytest.raises(BundleError, match=r"impacts\.npy holds"):
        ImpactIndex.open(bundle, "rankers/sparse/", 6, others)


def test_wrong_bounds_are_found_by_verify_in_every_form() -> None:
    for form in FORMS:
        made = index_of_triples(np.array([0, 1]), np.array([0, 0]), np.array([1.0, 3]), 1, 2, form)
        for wrong in (0.0, -1.0, np.nan, np.inf, *(() if form == "uint8" else (1.5,))):
            largest = np.array([wrong], np.float32)
            damaged = ImpactIndex(made.offsets, made.documents, made.impacts, largest, 2)
            with pytest.raises(BundleError, match="not its largest impact"):
                damaged.verify("the ranker")
