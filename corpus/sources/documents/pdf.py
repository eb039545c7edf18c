"""Read PDF files by pypdf."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.opening import LONGEST
from ranklet.corpus.sources.documents.part import Part, Parts
from ranklet.runtime.errors import CollectionError, InputError
from ranklet.runtime.extras import install

_log = logging.getLogger(__name__)

MOST_PAGES = 10_000
# Operations of all pages: each takes at least a byte, and forms may be drawn thousands of times.
MOST_OPERATIONS = 1_000_000
_LIMITS: Any = {
    "zlib_maximum_output_length": LONGEST,
    "stream_parsing_work_maximum_count": 1_000_000,
}
_DIVIDED = re.compile(r"(?<=[^\W\d_])(?:-|\u2010|\u00ad)[ \t]*\n(?=[^\W\d_])")
_NO_TITLE = re.compile(r"\.\w{1,5}$|^(untitled|microsoft word|powerpoint|slide 1)\b", re.IGNORECASE)


def read_pdf(path: Path) -> Parts:
    """Yield the pages of a PDF that have text.

    Raises:
        CollectionError: it is encrypted, holds no text or too many pages.
        InputError: pypdf is not installed.
    """
    try:
        import pypdf
        from pypdf.errors import DependencyError
    except ImportError:
        raise InputError(
            f"{path} needs a package that is not installed; run: {install('documents')}"
        ) from None
    with path.open("rb") as file:
        with _quiet():
            reader = pypdf.PdfReader(file)
            try:
                if reader.is_encrypted and not reader.decrypt(""):
                    raise CollectionError(f"{path} is encrypted; save it without a password")
            except DependencyError:
                raise CollectionError(
                    f"{path} is encrypted; save it without, or run: pip install 'pypdf[crypto]'"
                ) from None
            pages, title = len(reader.pages), _title(reader)
        if pages > MOST_PAGES:
            raise CollectionError(
                f"{path} has {pages:,} pages, and at most {MOST_PAGES:,} are read; divide it"
            )
        left, empty = max(MOST_OPERATIONS, path.stat().st_size), 0

        def count(*_: object) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise CollectionError(f"{path} draws more than its size allows; divide it")

        for number in range(1, pages + 1):
            text, fault = "", ""
            with _quiet(), pypdf.apply_configuration(**_LIMITS):
                try:
                    text = reader.pages[number - 1].extract_text(visitor_operand_before=count)
                except (CollectionError, MemoryError):
                    raise
                except Exception as error:
                    fault = f"is damaged or too large ({type(error).__name__}: {error})"
            text = _DIVIDED.sub("", text).strip()
            empty += not text and not fault
            if text or fault:
                yield Part(title, text, number, fault=fault)
    if empty == pages:
        raise CollectionError(
            f"{path} holds no text, as if it was scanned; recognise its text first (OCR)"
        )
    if empty:
        _log.warning("%s: %s of %s pages hold no text", path, f"{empty:,}", f"{pages:,}")


def _title(reader: Any) -> str:
    """Return the title that a PDF says, unless a program has put its file's name there."""
    title = " ".join(str((reader.metadata or {}).get("/Title") or "").split())
    return "" if _NO_TITLE.search(title) else title


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pypdf from logging what it repairs, of which most files have something."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
