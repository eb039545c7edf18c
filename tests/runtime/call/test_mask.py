from typing import Any

import numpy as np
import pytest

from ranklet.runtime.call.mask import check_mask
from ranklet.runtime.ground.errors import InputError


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ([True, False, True], "is a list"),
        (np.array([1, 0, 1]), r"is int64 of shape \(3,\)"),
        (np.array([1.0, 0.0, 1.0]), r"is float64 of shape \(3,\)"),
        (np.array([0, 2], np.uint32), r"is uint32 of shape \(2,\)"),
        (np.ones(2, bool), r"is bool of shape \(2,\)"),
        (np.ones((3, 1), bool), r"is bool of shape \(3, 1\)"),
        (np.ones((), bool), r"is bool of shape \(\)"),
    ],
)
def test_a_wrong_mask_is_refused_with_what_to_pass(wrong: Any, named: str) -> None:
    with pytest.raises(InputError, match=rf"{named}; pass a numpy array of bool of shape \(3,\)"):
        check_mask(wrong, 3)


def test_a_mask_of_all_documents_is_none() -> None:
    assert check_mask(None, 3) is None
    assert check_mask(np.ones(3, bool), 3) is None
    assert check_mask(np.ones(0, bool), 0) is None
    none = np.zeros(3, bool)
    assert check_mask(none, 3) is none
