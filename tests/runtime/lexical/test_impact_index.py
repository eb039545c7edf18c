from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.runtime.call.topk import Scored
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.lexical import impact_index, max_score
from ranklet.runtime.lexical.impact_index import ImpactIndex

Lists = dict[int, dict[int, float]]  # impact by term, then document


def build(lists: Lists, terms: int, size: int) -> ImpactIndex:
    rows = [sorted(lists.get(term, {}).items()) for term in range(terms)]
    return ImpactIndex(
        np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
        np.array([document for row in rows for document, _ in row], np.uint32),
        np.array([impact for row in rows for _, impact in row], np.float32),
        np.array([max((i for _, i in row), default=0) for row in rows], np.float32),
        size,
    )


def exhaustive(
    index: ImpactIndex,
    terms: list[int],
    weights: list[float],
    k: int,
    allowed: NDArray[np.bool_] | None = None,
) -> Scored:
    """Add every posting up, terms in the order that the index adds them, and sort everything.

    What a mask does not allow is dropped from the whole ranking.
    """
    bounds = [
        w * float(index.largest[t]) if t < len(index.largest) else 0
        for t, w in zip(terms, weights, strict=True)
    ]
    scores = np.zeros(index.size, np.float32)
    for at in sorted(range(len(terms)), key=lambda at: -bounds[at]):
        documents, impacts = index.postings(terms[at])
        scores[documents] += np.float32(weights[at]) * impacts
    order = np.lexsort((np.arange(index.size), -scores))
    order = order[scores[order] > 0]
    if allowed is not None:
        order = order[allowed[order]]
    order = order[: max(k, 0)]
    return order.astype(np.uint32), scores[order]


def retrieve(index: ImpactIndex, terms: list[int], weights: list[float], k: int) -> Scored:
    return index.retrieve(np.array(terms, np.int32), np.array(weights, np.float32), k)


def retrieve_allowed(
    index: ImpactIndex, terms: list[int], weights: list[float], k: int, allowed: NDArray[np.bool_]
) -> Scored:
    return index.retrieve(np.array(terms, np.int32), np.array(weights, np.float32), k, allowed)


def assert_same(found: Scored, wanted: Scored) -> None:
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


def spied(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """Return a list that gets an entry whenever a function of max_score.py is called."""
    calls: list[int] = []
    real: Callable[..., Any] = getattr(max_score, name)

    def spy(search: Any, *others: Any, **named: Any) -> Any:
        calls.append(len(search.lists))
        return real(search, *others, **named)

    monkeypatch.setattr(max_score, name, spy)
    return calls


def only(monkeypatch: pytest.MonkeyPatch, *, looked_up: bool) -> None:
    """Let all but tiny indexes be searched in one of two ways, in ranges of 64 documents."""
    for module, name, value in (
        (impact_index, "_SMALL", 0),
        (impact_index, "RANGE", 64),
        (max_score, "RANGE", 64),
        (max_score, "_FILTERED", 2.0 if looked_up else 0.0),
        (max_score, "_BISECTION", 1),
        (max_score, "_FEW", 1),
        (max_score, "_WAITING", 5),
        (max_score, "_SEEDS", 20),
        (max_score, "_KEPT", 5),
        (max_score, "_is_quick", lambda *_: looked_up),
        (max_score, "_is_short", lambda *_: False),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry whenever documents are looked up; lists never are added."""
    only(monkeypatch, looked_up=True)
    return spied(monkeypatch, "_look_up")


@pytest.fixture
def added_up(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry whenever lists are added up range by range."""
    only(monkeypatch, looked_up=False)
    return spied(monkeypatch, "_add_up")


@pytest.fixture
def added_in_uint32(monkeypatch: pytest.MonkeyPatch, added_up: list[int]) -> list[int]:
    """Return `added_up`, where sums are as wide as thousands of lists need them."""
    monkeypatch.setattr(max_score, "_UNITS", (1 << 16) - 1)
    return added_up


@pytest.fixture
def added_whole(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry whenever all lists are added up, in one range or many."""
    only(monkeypatch, looked_up=False)
    monkeypatch.setattr(max_score, "_is_short", lambda *_: True)
    return spied(monkeypatch, "_add_all")


@pytest.fixture
def summed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets an entry whenever all postings of a small index are added up."""
    calls: list[int] = []
    real = ImpactIndex._sums

    def spy(index: ImpactIndex, lists: list[Any]) -> NDArray[np.float32]:
        calls.append(len(lists))
        return real(index, lists)

    monkeypatch.setattr(ImpactIndex, "_sums", spy)
    monkeypatch.setattr(impact_index, "_SMALL", 1 << 20)
    return calls


@pytest.fixture(params=["looked_up", "added_up", "added_in_uint32", "added_whole", "summed"])
def used(request: pytest.FixtureRequest) -> list[int]:
    """Return one of five fixtures, each of which is a way to search."""
    calls: list[int] = request.getfixturevalue(request.param)
    return calls


def random_index(rng: np.random.Generator, *, ties: bool) -> ImpactIndex:
    """Return an index in which short lists have large impacts, as idf makes them."""
    size, terms = int(rng.integers(1, 400)), int(rng.integers(1, 12))
    lists: Lists = {}
    for term in range(terms):
        length = int(size * rng.random() ** 3)
        documents = rng.choice(size, length, replace=False).tolist()
        top = 10 * (1 - length / (size + 1)) ** 4 + 0.01
        impacts: NDArray[Any] = (
            rng.integers(1, 4, length) / 4 if ties else top * (1 - 0.5 * rng.random(length))
        )
        lists[term] = dict(zip(documents, impacts.tolist(), strict=True))
    return build(lists, terms, size)


@pytest.mark.parametrize("ties", [False, True])
def test_retrieval_is_exhaustive_scoring(ties: bool, used: list[int]) -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        index = random_index(rng, ties=ties)
        terms = rng.permutation(len(index.offsets) + 1)[: int(rng.integers(0, 8))].tolist()
        weights = rng.integers(1, 4, len(terms)).astype(float).tolist()
        k = int(rng.choice([0, 1, 2, 5, 20, index.size, index.size + 5]))
        assert_same(retrieve(index, terms, weights, k), exhaustive(index, terms, weights, k))
    assert len(used) >= 10


def test_few_documents_are_looked_up_in_long_weak_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(max_score, "RANGE", 1 << 10)
    monkeypatch.setattr(max_score, "_is_short", lambda *_: False)
    added = spied(monkeypatch, "_add_up")
    rng = np.random.default_rng(3)
    size = 20_000
    strong = {int(d): 9 + float(rng.random()) for d in rng.choice(size, 200, replace=False)}
    weak = {d: 0.1 + 0.1 * float(rng.random()) for d in range(size)}
    weaker = dict.fromkeys(range(0, size, 2), 0.01)
    index = build({0: strong, 1: weak, 2: weaker}, 3, size)
    found = retrieve(index, [2, 1, 0], [1, 1, 1], 10)
    assert not added
    assert_same(found, exhaustive(index, [2, 1, 0], [1, 1, 1], 10))


def test_impacts_of_less_than_a_unit_are_not_lost(added_up: list[int]) -> None:
    index = build({0: {3: 1.0, 100: 0.5}, 1: {3: 1.0, 70: 0.3, 200: 1.0}}, 2, 300)
    found = retrieve(index, [0, 1], [1.0, 1e-6], 10)
    assert_same(found, exhaustive(index, [0, 1], [1.0, 1e-6], 10))
    assert len(found[0]) == 4
    assert added_up


@pytest.mark.parametrize("seed", range(20))
def test_rounding_loses_no_document_at_the_border(seed: int, used: list[int]) -> None:
    # Sums of many small terms that reach the same total in different orders.
    rng = np.random.default_rng(seed)
    size = 3000
    lists: Lists = {0: dict.fromkeys(range(50), 1.0)}
    for term in range(1, 9):
        lists[term] = {d: 0.1 + 1e-7 * float(rng.random()) for d in range(size)}
    index = build(lists, 9, size)
    terms, weights = list(range(9)), [1.0] * 9
    for k in (1, 7, 50):
        assert_same(retrieve(index, terms, weights, k), exhaustive(index, terms, weights, k))
    assert used


@pytest.mark.parametrize("terms", [[], [5], [-1], [1]])
def test_nothing_is_found_by_no_term_unknown_terms_or_empty_ones(terms: list[int]) -> None:
    index = build({0: {0: 1.0}}, 2, 1)
    assert len(retrieve(index, terms, [1.0] * len(terms), 10)[0]) == 0


def test_an_index_without_a_posting_is_right_and_finds_nothing() -> None:
    index = build({}, 3, 5)
    index.verify("empty")
    assert len(retrieve(index, [0, 1, 2], [1, 1, 1], 10)[0]) == 0


def test_threads_do_not_affect_the_results_of_each_other() -> None:
    rng = np.random.default_rng(5)
    index = random_index(rng, ties=True)
    terms = range(len(index.offsets) - 1)
    asked = [([a, b], [1.0, 2.0]) for a in terms for b in terms if a != b] * 20
    wanted = [exhaustive(index, t, w, 7) for t, w in asked]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda each: retrieve(index, each[0], each[1], 7), asked))
    for got, want in zip(found, wanted, strict=True):
        assert_same(got, want)


def test_a_posting_past_the_collection_is_damage_and_spoils_no_later_query(used: list[int]) -> None:
    del used  # both ways
    index = build({0: {0: 1.0}, 1: {7: 1.0}}, 2, 2)
    with pytest.raises(BundleError, match="past the 2"):
        retrieve(index, [0, 1], [2, 1], 5)
    assert_same(retrieve(index, [0], [1], 5), (np.array([0]), np.array([1.0])))


@pytest.mark.parametrize("largest", [0.1, -1.0, np.nan])
def test_a_wrong_maximum_that_shows_is_damage(largest: float, added_up: list[int]) -> None:
    index = build({0: dict.fromkeys(range(0, 300, 3), 1.0)}, 1, 300)
    index.largest[:] = largest
    with pytest.raises(BundleError, match="largest impact"):
        retrieve(index, [0], [1.0], 5)
    assert len(added_up) == (largest > 0)


@pytest.mark.parametrize(
    ("documents", "message"),
    [([0, 1, 9], "past the 5"), ([1, 0, 2], "do not ascend"), ([0, 0, 2], "do not ascend")],
)
def test_wrong_postings_are_refused(documents: list[int], message: str) -> None:
    index = ImpactIndex(
        np.array([0, 3, 3]),
        np.array(documents, np.uint32),
        np.ones(3, np.float32),
        np.ones(2, np.float32),
        5,
    )
    with pytest.raises(BundleError, match=f"the ranker: .*{message}"):
        index.verify("the ranker")


@pytest.mark.parametrize("impact", [0.1, 60_000.0])
def test_impacts_of_16_bits_are_added_up_in_32(impact: float) -> None:
    index = build({0: {0: impact, 1: 1.0}, 1: {1: 0.3}}, 2, 2)
    stored = index.impacts.astype(np.float16)
    held = ImpactIndex(index.offsets, index.documents, stored, index.largest, 2)
    documents, scores = retrieve(held, [0, 1], [3.3, 7.7], 2)
    weights, exact = np.array([3.3, 7.7], np.float32), stored.astype(np.float32)
    wanted = [weights[0] * exact[0], weights[0] * exact[1] + weights[1] * exact[2]]
    np.testing.assert_array_equal(scores, np.array(wanted)[documents])


@pytest.mark.slow
@pytest.mark.parametrize("listed", [0.0, 10.0], ids=["bisected", "filtered"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8])
@pytest.mark.parametrize("ties", [False, True])
def test_a_mask_leaves_the_ranking_of_the_allowed_documents(
    ties: bool, dtype: Any, listed: float, used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the mask and however a list is read, scores are the same to the bit."""
    monkeypatch.setattr(max_score, "_LISTED", listed)
    rng = np.random.default_rng(8)
    for _ in range(150):
        built = random_index(rng, ties=ties)
        impacts = np.maximum(built.impacts, 1).astype(dtype)
        largest = impact_index.largest_impacts(built.offsets, impacts)
        if dtype == np.uint8:  # whose sums are exact, if steps are powers of 2
            steps = 2.0 ** rng.integers(-5, -2, len(largest))
            of_each = np.repeat(largest, np.diff(built.offsets))
            impacts = np.ceil(built.impacts / of_each * 255).clip(1, 255).astype(np.uint8)
            largest = (255 * steps).astype(np.float32)
        index = ImpactIndex(built.offsets, built.documents, impacts, largest, built.size)
        terms = rng.permutation(len(index.offsets) + 1)[: int(rng.integers(0, 8))].tolist()
        weights = rng.integers(1, 4, len(terms)).astype(float).tolist()
        k = int(rng.choice([0, 1, 2, 5, 20, index.size, index.size + 5]))
        pairs = zip(terms, weights, strict=True)
        scaled = [weight * index.term_scale(term) for term, weight in pairs]
        for share in (0, 0.01, 0.1, 0.5, 0.99, 1):
            allowed = rng.random(index.size) < share
            kept = allowed.copy()
            found = retrieve_allowed(index, terms, weights, k, allowed)
            assert_same(found, exhaustive(index, terms, scaled, k, allowed))
            assert (allowed == kept).all()
    assert len(used) >= 10


@pytest.mark.parametrize("share", [1e-4, 0.005, 0.05, 0.5])
def test_long_lists_are_searched_under_a_mask(share: float) -> None:
    rng = np.random.default_rng(4)
    size = 50_000
    lengths = (40, 900, 20_000, 45_000)
    lists: Lists = {
        term: dict(
            zip(
                rng.choice(size, length, replace=False).tolist(),
                (5 / (1 + term) + rng.random(length)).tolist(),
                strict=True,
            )
        )
        for term, length in enumerate(lengths)
    }
    index = build(lists, 4, size)
    for k in (1, 10, 1000):
        allowed = rng.random(size) < share
        terms, weights = [3, 0, 2, 1], [1.0, 2.0, 1.0, 3.0]
        found = retrieve_allowed(index, terms, weights, k, allowed)
        assert_same(found, exhaustive(index, terms, weights, k, allowed))
        assert len(found[0])


@pytest.mark.parametrize("allowed", [None, 0.002, 0.5])
def test_numbers_of_two_bytes_change_nothing(allowed: float | None, used: list[int]) -> None:
    rng, size = np.random.default_rng(3), 1 << 16
    lists = {
        term: {int(number): float(rng.random()) + 0.1 for number in (size - 1, *found.tolist())}
        for term, count in enumerate((20, 3_000, 30_000))
        for found in [rng.permutation(size)[:count]]
    }
    wide, mask = build(lists, 3, size), np.ones(size, np.bool_)
    narrow = ImpactIndex(
        wide.offsets, wide.documents.astype(np.uint16), wide.impacts, wide.largest, size
    )
    if allowed is not None:
        mask = rng.random(size) < allowed
    for terms in ([0], [2, 1], [0, 1, 2]):
        best, same = (
            retrieve_allowed(index, terms, [1.0] * len(terms), 10, mask) for index in (narrow, wide)
        )
        assert_same(best, same)
        assert best[0].dtype == np.uint32
    some = np.array([3, 9, size - 1], np.uint32)
    found, wanted = (index.matrix(np.array([2, 0], np.int32), some) for index in (narrow, wide))
    np.testing.assert_array_equal(found, wanted)
