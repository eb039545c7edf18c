"""The batches of a training are known before it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.kinds import TinyRankers, tiny_options

from ranklet.corpus.collections.splits import read_split
from ranklet.training.encoders.encoder_texts import EncoderTexts
from ranklet.training.pretrained.backbone import load_backbone


@pytest.mark.parametrize(
    ("length", "count"),
    [
        ({"epochs": 2}, 8),
        ({"steps": 5}, 5),
        ({"steps": 3, "accumulation": 3}, 7),  # 3, then the 1 that is left of an epoch, then 3
        ({"epochs": 3, "accumulation": 2}, 12),
    ],
    ids=str,
)
def test_as_many_batches_are_drawn_as_a_training_reads(
    tiny: TinyRankers, length: dict[str, Any], count: int
) -> None:
    collection = tiny.data.collection
    queries, dev = read_split(collection, "train"), read_split(collection, "dev")
    options = replace(tiny_options("dense", backbone=tiny.data.bert), **{"epochs": 1, **length})
    backbone = load_backbone(tiny.data.bert)
    texts = EncoderTexts(collection, queries, dev, options, backbone)
    drawn = texts.drawn(options)
    assert len(drawn) == count
    of_epochs = [batch for epoch in range(3) for batch in texts.pairs.batches(epoch)]
    for ours, theirs in zip(drawn, of_epochs, strict=False):
        np.testing.assert_array_equal(ours.documents, theirs.documents)
        assert ours.own.shape == (len(ours.queries), len(ours.documents) // len(ours.queries))
