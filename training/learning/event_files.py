"""Write the curves of a training as TensorBoard's event files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ranklet.runtime.storage.address import writable

# Records a value under a name at a step.
Record = Callable[[str, float, int], None]


@contextmanager
def event_files(folder: str | Path | None, steps: int) -> Iterator[Record]:
    """Open the event files of a training during a ``with``; without a folder, record nothing.

    What the folder holds of later steps is hidden. So a resumed training continues its curves, and
    a new one replaces those of an earlier one.

    Args:
        folder: where the files are written.
        steps: steps that were done earlier.
    """
    if folder is None:
        yield lambda name, value, step: None  # noqa: ARG005
        return
    from torch.utils.tensorboard import SummaryWriter

    writable(folder)

    first = steps + 1 if steps else 0  # the evaluation of the start is at 0
    writer = SummaryWriter(str(folder), purge_step=first)
    try:
        yield writer.add_scalar
    finally:
        writer.close()
