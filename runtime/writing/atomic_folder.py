"""Write a folder that has its name only when it is complete."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ranklet.runtime.storage.address import writable
from ranklet.runtime.writing.full_disk import full_disk_told
from ranklet.runtime.writing.leftovers import Claim, clean_up
from ranklet.runtime.writing.locks import locked
from ranklet.runtime.writing.replacing import replace_target


@contextmanager
def atomic_folder(target: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """Give a folder to write to, which takes its name when the block ends without an error.

    Until then readers find the earlier folder or none, and another writer of the target waits.
    After an error the earlier folder stays. When the block has ended, all is on the disk.

    Args:
        target: where links are followed. Folders above it are made.
        check: raises an error if what is at a path must not be replaced. It is called before and
            after the block.

    Raises:
        InputError: the target is an address.
        BundleError: the disk is full.
        OSError: the folder cannot be written.
    """
    place = writable(target)
    check(place)
    with full_disk_told(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place):
            clean_up(place)
            check(place)
            claim = Claim(place)
            try:
                claim.partial.mkdir()
                yield claim.partial
                check(place)
                replace_target(claim.partial, place, claim.old)
            finally:
                claim.release()
