"""Progress bars on standard error, only where a person watches."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Pass items through, with a bar where standard error is a terminal.

    Args:
        items: what is worked on.
        label: what is done to them.
        total: how many there are, where `items` cannot tell.
    """
    from tqdm import tqdm

    yield from tqdm(items, desc=label, total=total, disable=None, leave=True, dynamic_ncols=True)
