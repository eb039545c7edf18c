"""Mined negatives are an encoder's own best documents, and a resumed training has the same."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ranklet.training.encoders.mined_negatives import DEPTH, SHARE, MinedNegatives
from ranklet.training.encoders.text_pairs import Batch, Tokens

QUERIES, DOCUMENTS, SIZE = 12, 400, 8
RNG = np.random.default_rng(0)
OF_QUERIES = RNG.normal(size=(QUERIES, SIZE)).astype(np.float32)
OF_DOCUMENTS = RNG.normal(size=(DOCUMENTS, SIZE)).astype(np.float32)
OF_DOCUMENTS[:QUERIES] = 2 * OF_QUERIES  # document i is the one that is relevant to query i


class Pairs:
    """Texts of one token, which is their number."""

    ids = tuple(map(str, range(DOCUMENTS)))
    queries = Tokens(np.arange(QUERIES + 1), np.arange(QUERIES))
    documents = Tokens(np.arange(DOCUMENTS + 1), np.arange(DOCUMENTS))

    def batches(self, epoch: int) -> list[Batch]:
        order = np.random.default_rng(epoch).permutation(QUERIES)
        return [Batch(own, own) for own in np.split(order, 4)]

    def relevant_to(self, query: int) -> NDArray[np.int64]:
        return np.array([query, query + QUERIES])


def mined(
    folder: Path | None = None,
    documents: NDArray[np.float32] = OF_DOCUMENTS,
    model: nn.Module | None = None,
    kind: type[MinedNegatives] = MinedNegatives,
    **changes: Any,
) -> MinedNegatives:
    def of(vectors: NDArray[np.float32]) -> Any:
        def encode(tokens: Tokens, rows: NDArray[np.integer]) -> Tensor:
            return torch.from_numpy(vectors[tokens.ids[rows]])

        return encode

    values = {
        "batches": 3, "among": 0, "seed": 0, "precision": nullcontext, "folder": folder,
        "resume": False, **changes,
    }  # fmt: skip
    pairs: Any = Pairs()
    return kind(model or nn.Identity(), pairs, of(OF_QUERIES), of(documents), **values)


def test_a_negative_is_among_the_best_but_neither_relevant_nor_too_good() -> None:
    for part in range(4):
        for batch in mined().batches(part):
            own, negatives = np.split(batch.documents, 2)
            for query, negative in zip(batch.queries.tolist(), negatives.tolist(), strict=True):
                scores = OF_DOCUMENTS @ OF_QUERIES[query]
                allowed = scores <= SHARE * scores[query]
                allowed[[query, query + QUERIES]] = False
                assert allowed[negative]
                assert (scores[allowed] > scores[negative]).sum() < DEPTH
            assert own.tolist() == batch.queries.tolist()


@pytest.mark.parametrize("resume", [True, False])
def test_a_resumed_training_has_what_was_found_before(tmp_path: Path, resume: bool) -> None:
    first = mined(tmp_path, seed=1).batches(0)
    again = mined(tmp_path, seed=2, resume=resume).batches(0)  # as if the weights had changed
    same = [
        np.array_equal(*pair) for pair in zip(_documents(first), _documents(again), strict=True)
    ]
    assert all(same) == resume


def test_a_query_whose_documents_are_all_too_good_gets_a_random_one() -> None:
    vectors = np.concatenate([-9 * OF_QUERIES, OF_DOCUMENTS[QUERIES:]])
    for batch in mined(documents=vectors).batches(0):
        pairs = zip(batch.queries, batch.documents[len(batch.queries) :], strict=True)
        assert not any(negative in (query, query + QUERIES) for query, negative in pairs)


def test_the_encoder_learns_on_after_it_has_looked() -> None:
    model = nn.Dropout()
    mined(model=model).batches(0)
    assert model.training


def _documents(batches: list[Batch]) -> list[NDArray[np.int64]]:
    return [batch.documents for batch in batches]
