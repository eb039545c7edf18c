"""What pruning costs, against vectors that keep their values below 0."""

import numpy as np
import pytest

from ranklet.export.options import ExportOptions
from ranklet.export.sparse.pruning import pruning_reports, scores_of
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.ground.errors import InputError

# φ_d of two documents over four terms.
WHOLE = np.array([[1.0, -0.9, 0.0, 2.0], [0.5, 0.25, 0.0, -1.0]], np.float32)
ONES = np.ones(4, np.float32)
QUERIES = [
    SparseQuery(np.array([0, 1], np.int32), np.array([1, 1], np.float32)),
    SparseQuery(np.array([3], np.int32), np.array([2], np.float32)),
]


def test_leaving_out_what_is_below_0_is_part_of_the_loss() -> None:
    terms = np.array([0, 1, 3])
    exact = scores_of(QUERIES, terms, WHOLE[:, terms])
    # Without −0.9 the first document passes the second, which is the relevant one.
    reports = pruning_reports(exact, WHOLE.clip(0), QUERIES, [(1,), (0,)], 3, ONES)
    assert [each.variant for each in reports] == ["r=3", "r=4"]
    for each in reports:
        assert each.torch_ndcg == pytest.approx(1)
        assert each.ndcg == pytest.approx((1 / np.log2(3) + 1) / 2)
        assert each.max_error == pytest.approx(2 / exact.std(), rel=1e-5)  # −2 became 0
    assert reports[-1].bytes == round(4 * (2 + 2) / 2)


@pytest.mark.parametrize("prune", [0, (1 << 20) + 1, 1.5, True])
def test_what_cannot_be_kept_is_refused_before_anything_is_encoded(prune: int) -> None:
    with pytest.raises(InputError, match=f"prune is {prune}; .* from 1 to"):
        ExportOptions(prune=prune)
    assert ExportOptions(prune=1 << 20).prune == 1 << 20


def test_scores_of_some_terms_are_plain_dot_products() -> None:
    terms = np.array([0, 1, 3])
    found = scores_of(QUERIES, terms, WHOLE[:, terms])
    np.testing.assert_allclose(found, [[0.1, 0.75], [4.0, -2.0]], rtol=1e-6)
