"""The entries of a feed: documents with a vector per ranker."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.query import QueryVector, SparseQuery
from ranklet.runtime.search.texts import Passage


@dataclass(frozen=True)
class Entry(Passage):
    """A passage, or a document that is whole, with its vectors by ranker."""

    vectors: Mapping[str, QueryVector]


def numbers(values: NDArray[np.float32]) -> list[float]:
    """Return float32 values as the shortest numbers that are read back as the same values.

    >>> numbers(np.array([0.1, 2.0], np.float32))
    [0.1, 2.0]
    """
    return [float(str(each)) for each in values.astype(np.float32)]


def plain_vector(vector: QueryVector) -> list[float] | dict[str, float]:
    """Return a vector as a feed has it; the names of a sparse vector's terms are their numbers.

    >>> plain_vector(SparseQuery(np.array([7]), np.array([0.5], np.float32)))
    {'7': 0.5}
    """
    if isinstance(vector, SparseQuery):
        return dict(zip(map(str, vector.terms.tolist()), numbers(vector.weights), strict=True))
    return numbers(vector)


def as_json(value: Any) -> str:
    """Return compact JSON on one line, readable by any parser of UTF-8.

    >>> as_json({"a": ["é"]})
    '{"a":["é"]}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
