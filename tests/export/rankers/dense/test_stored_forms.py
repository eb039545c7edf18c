"""The proofs of the stored forms of documents' vectors."""

import numpy as np

from ranklet.export.rankers.dense.stored_forms import form_reports


def test_every_form_but_32_bits_is_compared_with_these() -> None:
    rng = np.random.default_rng(0)
    queries, documents = (rng.normal(size=(n, 64)).astype(np.float32) for n in (7, 40))
    relevant = [[int(each)] for each in (queries @ documents.T).argmax(1)]
    half, small = form_reports(queries, documents, relevant)
    assert [half.variant, small.variant] == ["stored float16", "stored int8"]
    assert [half.bytes, small.bytes] == [128, 68]  # of a document, the factor of int8 included
    assert half.pairs == small.pairs == 280
    assert 0 < half.max_error < small.max_error < 0.05
    assert half.torch_ndcg == half.ndcg == 1
    assert min(half.overlap, small.overlap) > 0.9


def test_a_form_that_cannot_tell_documents_apart_loses_them() -> None:
    """One large number leaves no levels of int8 to the others, and 16 bits keep them."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(40, 16)).astype(np.float32)
    queries = documents[:9].copy()
    documents[:, 0], queries[:, 0] = 1_000, 0
    half, small = form_reports(queries, documents, [[at] for at in range(9)])
    assert half.ndcg_loss == 0
    assert small.ndcg_loss > 0.1
