"""The numpy modules compute what PyTorch's do."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from ranklet.runtime.rankers.srm.modules import light_vectors, matrix_shapes, normalised
from ranklet.runtime.rankers.srm.settings import FORMS, MIXINGS, SRMSettings
from ranklet.training.learning.device import seeded
from ranklet.training.rankers.srm.modules import LightModules

TOKENS = 30
PLAIN = SRMSettings(dimension=16, sub_embeddings=5, heads=4, context="neighbours", context_window=2)


def modules(settings: SRMSettings) -> LightModules:
    """Return random modules whose numbers are so large that every part has a say."""
    with seeded(0):
        made = LightModules(settings, TOKENS)
        with torch.no_grad():
            for values in made.parameters():
                values.add_(torch.randn_like(values) * 0.4)
    return made.eval()


def both(
    settings: SRMSettings, ids: list[int], special: tuple[int, ...] = (0, 1), padding: int = 0
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return vectors and weights of a text by PyTorch, which may pad it, and by numpy."""
    torches = modules(settings)
    attended = np.array([each not in special for each in ids])
    padded = torch.tensor([ids + [2] * padding])
    mask = torch.from_numpy(np.append(attended, np.zeros(padding, np.bool_)))[None]
    with torch.no_grad():
        expected = [each for each in torches(padded, mask, None) if each is not None]
    state = {name: values.numpy() for name, values in torches.state_dict().items()}
    table = state.pop("table.weight").reshape(TOKENS, settings.sub_embeddings, settings.dimension)
    assert {name: values.shape for name, values in state.items()} == matrix_shapes(settings)
    made = light_vectors(table[ids], attended, state, settings)
    return [each[0, : len(ids)].numpy() for each in expected], [
        each for each in made if each is not None
    ]


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("window", [0, 1, 3, 100])
@pytest.mark.parametrize(("form", "mixing"), [*product(FORMS, MIXINGS)])
def test_vectors_and_weights_are_those_of_pytorch(
    form: str, mixing: str, window: int, similarity: str
) -> None:
    settings = replace(PLAIN, form=form, mixing=mixing, window=window, similarity=similarity)
    ids = [0, *np.random.default_rng(1).integers(2, TOKENS, 12).tolist(), 1]
    expected, made = both(settings, ids, padding=3)
    assert len(expected) == len(made) == (2 if settings.mixes else 1)
    for theirs, ours in zip(expected, made, strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("context_window", [0, 1, 5])
@pytest.mark.parametrize("sub_embeddings", [1, 2])
def test_the_context_of_neighbours_may_be_of_any_width(
    context_window: int, sub_embeddings: int
) -> None:
    settings = replace(PLAIN, context_window=context_window, sub_embeddings=sub_embeddings)
    for theirs, ours in zip(*both(settings, [0, 9, 3, 3, 1]), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ids", [[0, 1], [0], [1, 1, 0, 1, 7]])
def test_a_token_without_neighbours_reads_nothing(form: str, ids: list[int]) -> None:
    settings = replace(PLAIN, form=form, window=1)
    for padding in (0, 4):
        for theirs, ours in zip(*both(settings, ids, padding=padding), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_long_text_is_computed_in_blocks() -> None:
    settings = replace(PLAIN, window=7)
    ids = np.random.default_rng(2).integers(0, TOKENS, 700).tolist()
    for theirs, ours in zip(*both(settings, ids), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)


def test_the_attention_sees_its_window_only() -> None:
    settings = replace(PLAIN, window=1, context_window=0)
    ids = [0, 5, 6, 7, 8, 9, 1]
    _, (before, _) = both(settings, ids)
    _, (after, _) = both(settings, [0, 5, 6, 7, 8, 20, 1])
    np.testing.assert_array_equal(before[:4], after[:4])
    assert (before[4] != after[4]).any()


def test_weights_of_top1_are_one_and_zeros_and_those_of_the_code_add_up_to_one() -> None:
    ids = list(range(TOKENS))
    _, (_, one) = both(replace(PLAIN, mixing="top1"), ids)
    assert sorted(np.unique(one).tolist()) == [0, 1]
    np.testing.assert_array_equal(one.sum(1), 1)
    _, (_, twice) = both(replace(PLAIN, form="code"), ids)
    np.testing.assert_allclose(twice.sum(1), 1, rtol=1e-5)
    _, (_, maxima) = both(PLAIN, ids)
    assert (maxima.sum(1) > 1).all()


def test_a_vector_of_zeros_stays_one() -> None:
    settings = replace(PLAIN, similarity="cosine")
    vectors = np.array([[0.0, 0.0], [3.0, 4.0]], np.float32)
    expected = np.array([[0, 0], [0.6, 0.8]], np.float32)
    np.testing.assert_allclose(normalised(vectors, settings), expected)


def test_without_context_there_is_no_matrix() -> None:
    assert matrix_shapes(replace(PLAIN, sub_embeddings=1, window=0)) == {}
    assert matrix_shapes(replace(PLAIN, mixing="average", window=0)) == {}
    assert "neighbours.maps" in matrix_shapes(replace(PLAIN, mixing="average", window=1))
