"""What a feed has: one field per ranker, next to the documents and their metadata."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.runtime.call.query import QueryVector, SparseQuery
from ranklet.runtime.search.run import Passage


@dataclass(frozen=True)
class Field:
    """The field of one ranker.

    Attributes:
        ranker: the ranker's name in the bundle.
        name: the field's name: letters, digits and underscores.
        dimension: the dimension of the vectors; 0 if they are sparse.
        largest: the largest value of a sparse vector.
    """

    ranker: str
    name: str
    dimension: int = 0
    largest: float = 0.0

    @property
    def sparse(self) -> bool:
        """Whether the vectors are sparse."""
        return not self.dimension


@dataclass(frozen=True)
class Plan:
    """What all documents of a feed have.

    Attributes:
        index: name of the index or collection in the engine.
        fields: one per ranker.
        metadata: the type of each field of the metadata.
        passages: whether documents are split, so that several entries have the same document.
    """

    index: str
    fields: tuple[Field, ...]
    metadata: Mapping[str, str]
    passages: bool


@dataclass(frozen=True)
class Entry(Passage):
    """A passage, or a document that is whole, with its vectors by name of the field."""

    vectors: Mapping[str, QueryVector]


def numbers(values: NDArray[np.float32]) -> list[float]:
    """Return float32 values as the shortest numbers that are read back as the same values.

    >>> numbers(np.array([0.1, 2.0], np.float32))
    [0.1, 2.0]
    """
    return [float(str(each)) for each in values.astype(np.float32)]


def terms(vector: SparseQuery) -> dict[str, float]:
    """Return a sparse vector by term, whose name is its number.

    >>> terms(SparseQuery(np.array([7]), np.array([0.5], np.float32)))
    {'7': 0.5}
    """
    return dict(zip(map(str, vector.terms.tolist()), numbers(vector.weights), strict=True))


def shared(entry: Entry) -> dict[str, Any]:
    """Return the fields of an entry that every engine stores besides vectors and metadata."""
    found: dict[str, Any] = {
        "key": entry.key, "document": entry.document, "title": entry.title, "text": entry.text
    }  # fmt: skip
    if entry.passage is not None:
        found["passage"] = entry.passage
    return found


def engine_names(metadata: Mapping[str, str], refused: str, prefix: str = "") -> dict[str, str]:
    r"""Return the name of each field of the metadata in an engine.

    Args:
        metadata: the fields.
        refused: a regular expression of what becomes an underscore.
        prefix: the beginning of every name.

    Raises:
        ExportError: two fields would have the same name.

    >>> engine_names({"a b": "string"}, r"\W", "metadata_")
    {'a b': 'metadata_a_b'}
    """
    found: dict[str, str] = {}
    for name in metadata:
        own = prefix + re.sub(refused, "_", name, flags=re.ASCII)
        if own in found.values():
            raise ExportError(
                f"the metadata {name!r} and another field would both be called {own!r} in this "
                "engine; rename one of them in the documents"
            )
        found[name] = own
    return found


def as_json(value: Any) -> str:
    """Return compact JSON on one line, readable by any parser of UTF-8.

    >>> as_json({"a": ["é"]})
    '{"a":["é"]}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
