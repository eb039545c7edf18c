"""Read a document by its suffix, and say in one line what is wrong with it."""

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from ranklet.corpus.collections.bounds import LONGEST, Allowance
from ranklet.corpus.sources.documents.book import read_book
from ranklet.corpus.sources.documents.calamine import OTHERS
from ranklet.corpus.sources.documents.mail import read_mailbox, read_message
from ranklet.corpus.sources.documents.office import read_slides, read_word
from ranklet.corpus.sources.documents.part import Part, Parts, describe_fault
from ranklet.corpus.sources.documents.pdf import read_pdf
from ranklet.corpus.sources.documents.sheets import SHEETS, read_sheets
from ranklet.runtime.ground.errors import CollectionError, RankletError

READERS: Mapping[str, Callable[[Path], Parts]] = {
    ".pdf": read_pdf, ".docx": read_word, ".pptx": read_slides, ".epub": read_book,
    ".eml": read_message, ".mbox": read_mailbox, **dict.fromkeys(SHEETS, read_sheets),
}  # fmt: skip
# What reads some kinds, and the extra that has it. Python 3.14 has its own reader of .zst.
_PACKAGES = {
    ".pdf": ("pypdf", "documents"),
    **dict.fromkeys(OTHERS, ("python_calamine", "documents")),
    **({".zst": ("zstandard", "zst")} if sys.version_info < (3, 14) else {}),
}
_T = TypeVar("_T")


def lacking_extra(path: Path) -> str:
    """Return the extra without which a file cannot be read; "" if nothing is missing."""
    package, extra = _PACKAGES.get(path.suffix.lower(), ("", ""))
    return extra if package and find_spec(package) is None else ""


def read_parts(path: Path) -> Parts:
    """Yield the parts of a document.

    Raises:
        CollectionError: it cannot be read, a part has more than `LONGEST` characters, or all parts
            have more than such a file stands for.
        InputError: a package is missing.
    """
    if path.suffix.lower() not in READERS:
        raise CollectionError(f"{path} is compressed; unpack it")
    allowance = Allowance(path)
    for part in undamaged(path, READERS[path.suffix.lower()](path)):
        if (size := _size(part)) > LONGEST:
            raise CollectionError(
                f"{path} has more than {LONGEST:,} characters in one part; divide it"
            )
        allowance.take(size)
        yield part


def _size(part: Part) -> int:
    return sum(len(str(each)) for each in (part.title, part.text, *part.fields.values()))


def undamaged(path: Path, parts: Iterator[_T]) -> Iterator[_T]:
    """Yield what is read of a file.

    Raises:
        CollectionError: it cannot be read, because readers of broken files raise any error.
    """
    try:
        yield from parts
    except (RankletError, MemoryError):
        raise
    except Exception as error:
        raise CollectionError(f"{path} {describe_fault(path, error)}") from None
