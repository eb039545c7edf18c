"""What the first process of a test run makes and all others use."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def once(path: Path, build: Callable[[Path], object]) -> Path:
    """Return a folder that the first of all processes fills; a test may not change it."""
    with alone_at(path) as needed:
        if needed:
            partial = path.with_name(f"{path.name}.partial")
            partial.mkdir()
            build(partial)
            partial.rename(path)
    return path


@contextmanager
def alone_at(path: Path) -> Iterator[bool]:
    """Yield whether nobody has made a path yet; nobody else makes it meanwhile."""
    if path.exists():  # it was written whole: what writes it renames it into place
        yield False
        return
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not path.exists()
