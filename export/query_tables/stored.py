"""How a table of queries is stored, in a checkpoint and in a bundle."""

from typing import Any

from numpy.typing import NDArray

from ranklet.export.onnx.int8_embeddings import quantise_rows
from ranklet.export.query_tables.learning import Learned
from ranklet.runtime.onnx.query_table import CONSTANT, ROWS, SCALES

TABLE = "query table"  # key in a checkpoint's report


def array_of(file: str) -> str:
    """Return the name of a checkpoint's array by that of a bundle's file.

    >>> array_of("rows.npy")
    'query_rows'
    """
    return f"query_{file.removesuffix('.npy')}"


def arrays_of(made: Learned) -> dict[str, NDArray[Any]]:
    """Return a table in 8 bits, with a scale per row, by the names of a bundle's files."""
    rows, scales = quantise_rows(made.rows)
    return {ROWS: rows, SCALES: scales[:, 0], CONSTANT: made.constant}


def described(made: Learned) -> str:
    """Return what is known of a table, in one line."""
    size = sum(each.nbytes for each in arrays_of(made).values()) / 1e6
    return (
        f"a table of {len(made.rows):,} tokens in {size:.1f} MB encodes queries; cosine to the "
        f"network on unseen texts {made.cosine:.3f}, learned from {made.texts:,} texts in "
        f"{made.seconds:.0f} s"
    )
