"""Write web pages, of which only those of ranklet are replaced."""

from pathlib import Path

from ranklet.runtime.answers.html import GENERATOR
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.writing.atomic_file import atomic_file

FORCE = "replace a file at the page's place that ranklet has not written"
_BEGINNING = 2048  # bytes of a page that say who has written it


def check_page(path: Path, *, force: bool = False) -> None:
    """Raise InputError unless a page can be written to a path, before the work for it.

    Args:
        path: where the page will be. An earlier page of ranklet is replaced.
        force: whether any other file is, too.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(
            f"cannot write a page to {str(path)!r}; give the name of a file in an existing folder"
        )
    if path.exists() and not force and not _is_ours(path):
        raise InputError(
            f"{str(path)!r} exists and is no page that ranklet has written; give another name with "
            "--html, or replace it with --force"
        )


def write_page(path: Path, page: str) -> None:
    """Write a page in UTF-8; a page that was there before stays until this one is complete."""
    with atomic_file(path) as file:
        file.write(page.encode())


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(_BEGINNING)
