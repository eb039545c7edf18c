import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklet.corpus.indexing.translation_tables import Translations
from ranklet.training.rankers.model1 import em
from ranklet.training.rankers.model1.bitext import Bitext, build_bitext
from ranklet.training.rankers.model1.em import off_diagonal, train_model1

Pairs = list[tuple[list[int], list[int]]]  # (target, source)
SENTENCE = st.lists(st.integers(0, 6), min_size=1, max_size=5)
BITEXTS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6)

# das haus / the house, das buch / the book, ein buch / a book, and two longer pairs.
TOY: Pairs = [
    ([10, 11], [0, 1]),
    ([10, 12], [0, 2]),
    ([13, 12], [3, 2]),
    ([10, 11, 14, 15], [0, 1, 4, 5]),
    ([13, 12, 14, 16], [4, 6, 3, 2, 2]),  # a source token twice
]


def bitext_of(pairs: Pairs) -> Bitext:
    (target, target_offsets), (source, source_offsets) = (
        (
            np.array([token for pair in pairs for token in pair[side]], np.int32),
            np.cumsum([0, *(len(pair[side]) for pair in pairs)]),
        )
        for side in (0, 1)
    )
    return Bitext(target, target_offsets, source, source_offsets)


def make_table(translations: Translations) -> dict[tuple[int, int], float]:
    """(target, source) → probability."""
    keys = zip(translations.target.tolist(), translations.source.tolist(), strict=True)
    return dict(zip(keys, translations.probability.tolist(), strict=True))


def brute_force(pairs: Pairs, iterations: int) -> tuple[dict[tuple[int, int], float], list[float]]:
    """Model 1 by the definition, loop by loop; the empty word is -1."""
    pairs = [(target, [-1, *source]) for target, source in pairs]
    vocabulary = {t for target, _ in pairs for t in target}
    table: dict[tuple[int, int], float] = defaultdict(lambda: 1 / len(vocabulary))
    likelihoods = []
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        likelihood = 0.0
        for target, source in pairs:
            for t in target:
                evidence = sum(table[t, s] for s in source)
                likelihood += math.log(evidence / len(source))
                for s in source:
                    counts[t, s] += table[t, s] / evidence
                    totals[s] += table[t, s] / evidence
        table = defaultdict(float, {(t, s): n / totals[s] for (t, s), n in counts.items()})
        likelihoods.append(likelihood)
    return {key: value for key, value in table.items() if key[1] != -1}, likelihoods


@pytest.mark.parametrize("iterations", [1, 2, 5, 10])
def test_parity_with_nltk(iterations: int) -> None:
    from nltk.translate import AlignedSent
    from nltk.translate.ibm1 import IBMModel1

    # Target sentences repeat no token here: nltk then divides a repeated token's count by the
    # number of repetitions, where Brown et al. count each position (see the brute-force test).
    sentences = [
        AlignedSent([str(t) for t in target], [str(s) for s in source]) for target, source in TOY
    ]
    oracle = IBMModel1(sentences, iterations).translation_table
    ours = make_table(train_model1(bitext_of(TOY), iterations=iterations, threshold=0).translations)
    assert len(ours) == len({(t, s) for target, source in TOY for t in target for s in source})
    for (target, source), probability in ours.items():
        # nltk lifts what underflows to its MIN_PROB of 1e-12, far below the tolerance.
        assert probability == pytest.approx(oracle[str(target)][str(source)], abs=1e-6)


def test_parity_with_nltk_counts_a_repeated_target_token_once() -> None:
    from nltk.translate import AlignedSent
    from nltk.translate.ibm1 import IBMModel1

    repeated: Pairs = [*TOY, ([10, 10, 12], [0, 2]), ([11, 11, 11], [1, 4])]
    once: Pairs = [(sorted(set(target)), source) for target, source in repeated]
    sentences = [
        AlignedSent([str(t) for t in target], [str(s) for s in source])
        for target, source in repeated
    ]
    oracle = IBMModel1(sentences, 5).translation_table
    ours = make_table(train_model1(bitext_of(once), threshold=0).translations)
    for (target, source), probability in ours.items():
        assert probability == pytest.approx(oracle[str(target)][str(source)], abs=1e-6)


@given(BITEXTS, st.integers(1, 4))
def test_parity_with_brute_force(pairs: Pairs, iterations: int) -> None:
    model = train_model1(bitext_of(pairs), iterations=iterations, threshold=0)
    table, likelihoods = brute_force(pairs, iterations)
    ours = make_table(model.translations)
    assert ours.keys() == table.keys()
    assert ours == pytest.approx(table, rel=1e-9, abs=1e-300)
    assert model.log_likelihoods == pytest.approx(likelihoods)
    assert model.links == sum(len(target) * (len(source) + 1) for target, source in pairs)


@given(BITEXTS)
def test_every_bitext_gains_likelihood_and_has_sorted_probabilities_that_sum_to_one(
    pairs: Pairs,
) -> None:
    model = train_model1(bitext_of(pairs), iterations=6, threshold=0)
    likelihoods = np.array(model.log_likelihoods)
    assert (np.diff(likelihoods) >= -1e-9 * np.abs(likelihoods[:-1])).all()
    translations = model.translations
    totals = np.bincount(translations.source, weights=translations.probability)
    np.testing.assert_allclose(totals[np.unique(translations.source)], 1)
    order = np.lexsort((translations.source, translations.target))
    assert (np.diff(order) > 0).all()


def test_cutting_into_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    queries = [rng.integers(0, 40, rng.integers(1, 6)) for _ in range(60)]
    documents = [rng.integers(0, 40, rng.integers(5, 40)) for _ in range(60)]
    bitext = build_bitext(queries, documents)
    whole = train_model1(bitext)
    monkeypatch.setattr(em, "BLOCK_LINKS", 50)
    blocked = train_model1(bitext)
    for name in ("source", "target", "probability"):
        np.testing.assert_array_equal(
            getattr(blocked.translations, name), getattr(whole.translations, name)
        )
    assert blocked.log_likelihoods == pytest.approx(whole.log_likelihoods)


def test_learns_the_toy_dictionary_and_nothing_unseen() -> None:
    table = make_table(train_model1(bitext_of(TOY), iterations=20).translations)
    assert table[12, 2] > 0.8
    assert table[10, 0] > 0.8
    assert (13, 0) not in table  # never in one pair
    assert all(source in range(7) and target in range(10, 17) for target, source in table)


def test_threshold_drops_and_does_not_rescale() -> None:
    everything = train_model1(bitext_of(TOY), threshold=0).translations
    kept = train_model1(bitext_of(TOY), threshold=0.2).translations
    assert make_table(kept) == {k: v for k, v in make_table(everything).items() if v >= 0.2}


def test_off_diagonal_rescales_what_is_left_of_each_source() -> None:
    table = Translations(
        source=np.array([1, 2, 1, 1, 3], np.int32),
        target=np.array([1, 1, 2, 3, 3], np.int32),
        probability=np.array([0.5, 0.25, 0.3, 0.1, 1.0]),
    )
    off = make_table(off_diagonal(table))
    assert off == pytest.approx({(1, 2): 1.0, (2, 1): 0.75, (3, 1): 0.25})  # 3 has only itself
