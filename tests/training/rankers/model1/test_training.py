from typing import Any

import numpy as np
import pytest

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQuery
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.runtime.rankers.model1 import Model1Settings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.rankers.model1.constants import GRID
from ranklet.training.rankers.model1.options import Options
from ranklet.training.rankers.model1.training import train


@pytest.mark.parametrize("name", ["model1", "model1_pieces"])
def test_the_table_is_sorted_without_itself_and_sums_to_one(
    checkpoints: dict[str, Checkpoint], name: str
) -> None:
    arrays = checkpoints[name].arrays
    source, target, probability = (arrays[k] for k in ("source", "target", "probability"))
    assert len(source) == len(target) == len(probability) > 100
    keys = target.astype(np.int64) << 32 | source
    assert (np.diff(keys) > 0).all()
    assert (source != target).all()
    assert ((probability > 0) & (probability <= 1)).all()
    # Σ_t T(t|s) = 1 over the targets of each source (Boytsov & Kolter, §3), here without t = s.
    totals = np.bincount(source, probability)
    np.testing.assert_allclose(totals[totals > 0], 1, rtol=1e-4)


def test_words_get_numbers_of_their_own_and_word_pieces_keep_the_tokenizers_ids(
    checkpoints: dict[str, Checkpoint],
) -> None:
    words, pieces = checkpoints["model1"], checkpoints["model1_pieces"]
    used = np.union1d(words.arrays["source"], words.arrays["target"])
    assert used.tolist() == list(range(len(words.tokens)))
    assert list(words.tokens) == sorted(set(words.tokens), key=str.encode)
    assert words.tokenizer is None
    assert pieces.tokens == ()
    assert pieces.tokenizer is not None
    assert pieces.arrays["source"].max() < pieces.tokenizer.get_vocab_size()


def test_query_words_translate_from_document_words(checkpoints: dict[str, Checkpoint]) -> None:
    found = checkpoints["model1"]
    number = {token: at for at, token in enumerate(found.tokens)}
    pairs = set(zip(found.arrays["target"].tolist(), found.arrays["source"].tolist(), strict=True))
    assert (number["knead"], number["dough"]) in pairs


def test_the_best_point_of_the_grid_is_taken(checkpoints: dict[str, Checkpoint]) -> None:
    found = checkpoints["model1"]
    assert isinstance(found.settings, Model1Settings)
    grid = {(p["p_self"], p["lambda"]): p["value"] for p in found.training["grid"]}
    assert set(grid) == set(GRID)
    assert grid[found.settings.p_self, found.settings.lambda_] == max(grid.values())
    assert found.training["best"] == max(grid.values())
    likelihoods = found.training["log_likelihoods"]
    assert len(likelihoods) == 5
    assert likelihoods == sorted(likelihoods)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations is 0; it must be a whole number from 1"),
        ({"threshold": 2.0}, "threshold is 2.0; it must be a number from 0 to 1"),
        ({"measure": "accuracy"}, "unknown measure"),
        ({"bm25": BM25Settings("wordpieces")}, "wordpieces need --tokenizer"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Options(**options)


def test_queries_without_a_document_in_the_collection_are_refused(collection: Collection) -> None:
    queries = [JudgedQuery("1", "dough", {"elsewhere": 1})]
    with pytest.raises(InputError, match="no pair"):
        train(collection, queries, queries, Options())
