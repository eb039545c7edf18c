"""Show progress bars on standard error if it is a terminal."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, with a progress bar if standard error is a terminal.

    Args:
        items: the items.
        label: the bar's label.
        total: number of items, if `items` has no length.
    """
    from tqdm import tqdm

    yield from tqdm(items, desc=label, total=total, disable=None, leave=True, dynamic_ncols=True)


def progress_bar(label: str, total: int, done: int = 0) -> Any:
    """Return a tqdm bar that is updated by hand, for use in a ``with``.

    Args:
        label: the bar's label.
        total: number of steps.
        done: number of steps that are already done.
    """
    from tqdm import tqdm

    return tqdm(desc=label, total=total, initial=done, disable=None, dynamic_ncols=True)
