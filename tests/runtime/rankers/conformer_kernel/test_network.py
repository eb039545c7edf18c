"""Runs of the network: which shapes it is fed, and what damaged graphs return."""

import numpy as np
import pytest
from tests.runtime.rankers.conformer_kernel.sessions import Fake

from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.conformer_kernel import network as term_network
from ranklet.runtime.rankers.conformer_kernel.network import PADDING, network_scores, score_each
from ranklet.runtime.storage.forward import Gathered


def test_each_document_is_scored_for_its_own_terms_in_runs_that_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(term_network, "RUN_BUDGET", 4)
    session = Fake(on_gpu=False)
    terms = [np.array([2, 3, 4]), np.array([5]), np.array([], np.int64), np.array([7])]
    documents = [np.array([10, 20]), np.arange(9), np.array([1]), np.array([], np.int64)]
    found = score_each(session, terms, documents)
    assert [each.tolist() for each in found] == [[32, 33, 34], [41], [], [7]]
    assert session.fed == [(1, 2), (1, 2), (1, 9), (1, 1)]  # two terms, one; one; padding
    with pytest.raises(BundleError, match="shape"):
        score_each(Fake(False, (1, 3)), terms[:1], documents[:1])


@pytest.mark.parametrize("on_gpu", [False, True])
def test_documents_are_fed_alone_or_by_length(
    on_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Fake(on_gpu)
    documents = Gathered(np.array([7, 8, 5, 1]), np.array([2, 1, 0, 1]))
    found = network_scores(session, np.array([2, 3]), documents)
    assert found.tolist() == [[17, 7, 2, 3], [18, 8, 3, 4]]
    assert session.fed == ([(4, 2)] if on_gpu else [(1, 2), (1, 1), (1, 1), (1, 1)])
    assert PADDING == 0
    monkeypatch.setattr(term_network, "SQUARE_BUDGET", 4)  # one of two terms, or four of one
    small = Fake(on_gpu)
    network_scores(small, np.array([2, 3]), documents)
    assert small.fed == ([(1, 2), (3, 1)] if on_gpu else session.fed)
    for shape in ((4, 3), (4,), (3, 2)):
        with pytest.raises(BundleError, match="shape"):
            network_scores(Fake(on_gpu, shape), np.array([2, 3]), documents)
