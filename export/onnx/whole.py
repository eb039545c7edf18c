"""Prove a network of many tokens with those of its probes, and put the others back afterwards.

A multilingual network is mostly its table of token vectors, which every graph, session and copy of
it would have. All forms of a graph store the table row by row, so what was proven of some rows
holds for the graph with all of them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.onnx.int8_embeddings import quantise_rows

if TYPE_CHECKING:
    from onnx import TensorProto
    from tokenizers import Tokenizer

BLOCK = 10_000  # rows that are converted at a time


@dataclass(frozen=True, eq=False)
class Whole:
    """All tokens of a network whose graphs have fewer.

    Attributes:
        tokenizer: the tokenizer with all tokens.
        table: the vectors of all tokens, (tokens, dimension) float32.
        former: the rows of the table that the graphs have, ascending.
    """

    tokenizer: "Tokenizer"
    table: NDArray[np.float32]
    former: NDArray[np.int64]

    def restored(self, model: bytes) -> bytes:
        """Return a model of ONNX with all tokens.

        Raises:
            ExportError: the model has no such table.
        """
        from onnx import ModelProto

        read = ModelProto.FromString(model)
        found = 0
        for each in read.graph.initializer:
            if (some := self._known(each)) is not None:
                rows = np.empty((len(self.table), some.shape[1]), some.dtype)
                for at in range(0, len(rows), BLOCK):
                    rows[at : at + BLOCK] = _as(some, self.table[at : at + BLOCK])
                for values in ("float_data", "int32_data"):  # where other forms would have them
                    each.ClearField(values)
                each.dims[0] = len(rows)
                each.raw_data = rows.tobytes()  # copies of a tensor would need several times that
                found += 1
        if not found:
            raise ExportError("the graph has no table of its tokens; please report this")
        restored: bytes = read.SerializeToString()
        return restored

    def _known(self, tensor: "TensorProto") -> NDArray[Any] | None:
        """Return a tensor if it holds the vectors of some tokens, or factors of them."""
        from onnx import numpy_helper

        if len(tensor.dims) != 2 or tensor.dims[0] != len(self.former):
            return None
        some = numpy_helper.to_array(tensor)
        if some.shape[1] not in (1, self.table.shape[1]):
            return None
        return some if np.array_equal(_as(some, self.table[self.former]), some) else None


def _as(stored: NDArray[Any], vectors: NDArray[np.float32]) -> NDArray[Any]:
    """Return vectors of tokens as a graph stores them: in 32, 16 or 8 bits, or the factors of 8."""
    if stored.dtype == np.float16:
        from onnxruntime.transformers.float16 import convert_np_to_float16

        half: NDArray[np.float16] = convert_np_to_float16(vectors)
        return half
    if stored.dtype == np.int8:
        return quantise_rows(vectors)[0]
    return quantise_rows(vectors)[1] if stored.shape[1] == 1 else vectors
