"""What the tests of int8 share: the fused graph of a tiny BERT with outliers, and its feeds."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranklet.export.onnx.graph import Transformer, example_inputs, export_graph
from ranklet.runtime.rankers.dense import INPUTS, OUTPUT, DenseSettings
from ranklet.training.pretrained.backbone import load_backbone

if TYPE_CHECKING:
    from onnx import ModelProto

Feeds = dict[str, NDArray[np.int64]]
LOUD = (3, 17)  # channels behind layer norms that are as much louder as in a real BERT


@pytest.fixture(scope="session")
def tiny_graph(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph of a BERT of 2 layers and 32 dimensions, with outliers as real ones have them."""
    import torch

    from ranklet.training.rankers.dense.network import DenseNetwork

    model: Any = load_backbone(tiny_bert, attention="eager").model
    with torch.no_grad():
        for name, each in model.named_parameters():
            if name.endswith("LayerNorm.weight") and "layer.1.output" not in name:
                each[list(LOUD)] *= 30
            elif each.ndim == 2:
                each *= 4  # random weights are so small that layers add next to nothing
                if name.split(".")[-3] in ("self", "intermediate"):
                    each[:, list(LOUD)] /= 30  # what reads them has learned that they are loud
    target = tmp_path_factory.mktemp("graph") / "fp32.onnx"
    export_graph(
        DenseNetwork(model, DenseSettings(similarity="dot")),
        example_inputs(INPUTS),
        OUTPUT,
        target,
        Transformer(2, 32, 2),
    )
    return target


@pytest.fixture
def tiny_model(tiny_graph: Path) -> "ModelProto":
    """The same, loaded; a test may change it."""
    import onnx

    return onnx.load(str(tiny_graph))


@pytest.fixture(scope="session")
def tiny_feeds() -> list[Feeds]:
    """Inputs of 24 texts of 4 to 20 tokens, each alone."""
    rng = np.random.default_rng(0)
    made = []
    for tokens in rng.integers(4, 21, 24).tolist():
        ids = rng.integers(5, 100, (1, tokens))
        made.append(dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True)))
    return made
