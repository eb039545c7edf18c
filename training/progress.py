"""Progress bars on standard error, only where a person watches."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

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


def progress_bar(label: str, total: int, done: int = 0) -> Any:
    """Return a bar for work that is counted by hand: a tqdm, used in a ``with``.

    Args:
        label: what is done.
        total: how many steps there are.
        done: how many are behind us already.
    """
    from tqdm import tqdm

    return tqdm(desc=label, total=total, initial=done, disable=None, dynamic_ncols=True)
