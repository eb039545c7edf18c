"""Show progress bars on standard error if it is a terminal."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items; `total` is their number if they have no length."""
    from tqdm import tqdm

    yield from tqdm(items, desc=label, total=total, disable=None, leave=True, dynamic_ncols=True)


def progress_bar(label: str, total: int, done: int = 0) -> Any:
    """Return a tqdm bar for a ``with``, which is updated by hand; `done` steps are done already."""
    from tqdm import tqdm

    return tqdm(desc=label, total=total, initial=done, disable=None, dynamic_ncols=True)
