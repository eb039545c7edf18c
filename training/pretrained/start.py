"""Load what the training of an encoder with a head starts from."""

from ranklet.runtime.errors import InputError
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.learning.options import HeadOptions
from ranklet.training.pretrained.backbone import Backbone, load_backbone


def load_start(
    options: HeadOptions, kind: str, *, masked: bool = False
) -> tuple[Backbone, Checkpoint | None]:
    """Return the encoder, and the checkpoint whose head training continues; None for a new head.

    Args:
        options: options that name a backbone, a checkpoint to start from, or neither.
        kind: kind that the checkpoint must have.
        masked: whether to load the encoder as a masked language model.

    Raises:
        InputError: the encoder cannot be read, or the checkpoint is of another kind.
    """
    if options.start is None:
        return load_backbone(options.backbone, masked=masked), None
    checkpoint = read_checkpoint(options.start)
    if checkpoint.kind != kind:
        raise InputError(
            f"--start {str(options.start)!r} is of the kind {checkpoint.kind}, not {kind}; "
            "--backbone takes the encoder of any checkpoint that has one"
        )
    return load_backbone(options.start, masked=masked), checkpoint
