"""What a kind must say so that a table can encode its queries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.writer import BundleWriter
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.text.tokenizing import Tokenizer
from ranklet.training.checkpoint import Checkpoint

REPORT = "query table"  # key in a checkpoint's report


@dataclass(frozen=True)
class Learned:
    """A table with what is known of it.

    Attributes:
        rows: (vocabulary, dimension) float32.
        texts: how many it learned from.
        cosine: mean cosine to the network of texts that it has not seen.
        seconds: that it took; of an earlier time if it was kept.
    """

    rows: NDArray[np.float32]
    texts: int
    cosine: float
    seconds: float

    def __str__(self) -> str:
        """Say what is known of it, in one line."""
        return (
            f"a table of {len(self.rows):,} tokens in {self.rows.size / 1e6:.1f} MB encodes "
            f"queries; cosine to the network on unseen texts {self.cosine:.3f}, learned from "
            f"{self.texts:,} texts in {self.seconds:.0f} s"
        )


class Teacher(NamedTuple):
    """The network of an exported ranker."""

    encode: Callable[[list[str]], NDArray[np.float32]]  # vectors of queries, of length 1
    tokenizer: Tokenizer  # of queries
    dimension: int
    digest: str  # of all that its vectors depend on


class FirstDocuments(NamedTuple):
    """The first documents of a query, by a table and by the network."""

    table: NDArray[np.uint32]
    network: NDArray[np.uint32]


@dataclass(frozen=True)
class QueryTables:
    """How tables encode the queries of a kind's rankers.

    Attributes:
        encodes: returns whether a table encodes the queries of a ranker with some settings.
        teacher: returns the network of a bundle's ranker, or raises ExportError if a table cannot
            replace it.
        write: writes a ranker of a bundle with a table, and returns its entry.
        checkpoint: returns a checkpoint with a table.
        first: returns the first `k` documents of some queries.
    """

    encodes: Callable[[Any], bool]
    teacher: Callable[[BundleFiles, str], Teacher]
    write: Callable[[BundleWriter, BundleFiles, str, Learned], RankerEntry]
    checkpoint: Callable[[Checkpoint, Learned], Checkpoint]
    first: Callable[[BundleFiles, str, Sequence[str], int], list[FirstDocuments]]
