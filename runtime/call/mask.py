"""A mask says which documents of a collection a search may return."""

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import InputError

Mask = NDArray[np.bool_]  # whether each document may be returned, (documents,)


def check_mask(allowed: Mask | None, documents: int) -> Mask | None:
    """Return a mask, or None if it allows every document.

    >>> check_mask(np.array([True, False]), 2).tolist()
    [True, False]
    >>> check_mask(np.array([True, True]), 2) is None
    True

    Args:
        allowed: the mask; None allows every document.
        documents: number of documents in the collection; passages where documents are split.

    Raises:
        InputError: it is no array of bool, or it has another shape.
    """
    if allowed is None:
        return None
    needed = (
        f"pass a numpy array of bool of shape ({documents},), one value per document of the "
        "collection, or None for all"
    )
    if not isinstance(allowed, np.ndarray):
        raise InputError(f"the mask of allowed documents is a {type(allowed).__name__}; {needed}")
    if allowed.dtype != np.bool_ or allowed.shape != (documents,):
        given = f"{allowed.dtype} of shape {allowed.shape}"
        raise InputError(f"the mask of allowed documents is {given}; {needed}")
    return None if allowed.all() else allowed


def both(one: Mask | None, other: Mask | None) -> Mask | None:
    """Return the mask of the documents that two masks allow.

    >>> both(np.array([True, False]), None).tolist()
    [True, False]
    >>> both(np.array([True, False]), np.array([False, True])).tolist()
    [False, False]
    """
    if one is None or other is None:
        return other if one is None else one
    return one & other
