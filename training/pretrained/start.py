"""What a network with an encoder starts from: a backbone, a checkpoint, or sparse predictions."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ranklet.runtime.ground.errors import InputError
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.learning.options import HeadOptions
from ranklet.training.learning.weights import M, check_kind, load_trained
from ranklet.training.pretrained.backbone import Backbone, load_backbone, new_model


def load_start(
    options: HeadOptions, kind: str, *, masked: bool = False, segments: bool = True
) -> tuple[Backbone, Checkpoint | None]:
    """Return the encoder, and the checkpoint whose head training continues; None for a new head.

    Args:
        options: options that name a backbone, a checkpoint to start from, or neither.
        kind: kind that the checkpoint must have.
        masked: whether to load the encoder as a masked language model.
        segments: whether it must have token_type_ids.

    Raises:
        InputError: the encoder cannot be read, or the checkpoint is of another kind.
    """
    if options.start is None:
        return load_backbone(options.backbone, masked=masked, segments=segments), None
    checkpoint = read_checkpoint(options.start)
    if checkpoint.kind != kind:
        raise InputError(
            f"--start {str(options.start)!r} is of the kind {checkpoint.kind}, not {kind}; "
            "--backbone takes the encoder of any checkpoint that has one"
        )
    return load_backbone(options.start, masked=masked, segments=segments), checkpoint


def load_network(
    checkpoint: Checkpoint, kind: str, build: Callable[[Any], M], attention: str, **loader: bool
) -> M:
    """Return the network of a checkpoint, in evaluation mode.

    Args:
        checkpoint: a checkpoint of the kind.
        kind: the kind.
        build: returns a network with random weights around an encoder.
        attention: implementation in transformers: sdpa, or eager, which export needs.
        loader: further arguments of `new_model`.

    Raises:
        InputError: the checkpoint is of another kind, or its weights do not fit its config.json.
    """
    check_kind(checkpoint, kind)
    model = build(new_model(checkpoint.network, attention, **loader))
    return load_trained(model, checkpoint.weights)


def begin_sparse(bias: Tensor, logits: Tensor, share: float) -> None:
    """Lower the bias of each prediction until only a share of some texts has the term.

    An encoder that has learned no predictions gives every text nearly all terms, and ranks by what
    all of them share. SPLADE's MRR@10 on 60 queries is .22 with untouched biases and .84 with
    lowered ones (docs/maintainers/log).

    Args:
        bias: of the predictions, (vocabulary,) float32; it is changed.
        logits: the largest of each term in each text, (texts, vocabulary) float32.
        share: share of the texts that has each term afterwards, at most.
    """
    with torch.no_grad():
        bias -= torch.quantile(logits, 1 - share, dim=0)
