from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ranklet.export.onnx.int8_embeddings import quantise_rows, store_words_by_row
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.rankers.dense import INPUTS, OUTPUT

if TYPE_CHECKING:
    from onnx import ModelProto


@given(hnp.arrays(np.float32, (4, 3), elements=st.floats(-(2**10), 2**10, width=32)))
def test_a_row_is_off_by_half_a_step_at_most(table: NDArray[np.float32]) -> None:
    rows, scales = quantise_rows(table)
    assert (rows.dtype, scales.dtype, scales.shape) == (
        np.dtype(np.int8),
        np.dtype(np.float32),
        (4, 1),
    )
    assert (scales > 0).all()
    step = np.abs(table).max(1, keepdims=True) / 127
    assert (np.abs(rows * scales - table) <= 0.51 * step + 1e-30).all()


def test_the_graph_reads_the_quantised_words(tiny_model: "ModelProto") -> None:
    """Two texts of different lengths together: places run on from one to the next."""
    from onnx import numpy_helper

    ids = np.array([[5, 9, 9, 31], [7, 6, 0, 0]])
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    feeds = dict(zip(INPUTS, (ids, mask, np.zeros_like(ids)), strict=True))
    (name,) = (n.input[2] for n in tiny_model.graph.node if n.op_type == "EmbedLayerNormalization")
    (table,) = (each for each in tiny_model.graph.initializer if each.name == name)
    words = numpy_helper.to_array(table).copy()
    rows, scales = quantise_rows(words)
    table.CopyFrom(numpy_helper.from_array(rows * scales, name))
    wanted = Session(tiny_model.SerializeToString(), "wanted", device="cpu").run(OUTPUT, feeds)

    table.CopyFrom(numpy_helper.from_array(words, name))
    store_words_by_row(tiny_model)
    found = Session(tiny_model.SerializeToString(), "found", device="cpu").run(OUTPUT, feeds)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    held = {each.name: each for each in tiny_model.graph.initializer}
    assert name not in held
    assert numpy_helper.to_array(held[f"{name}.rows"]).dtype == np.int8
