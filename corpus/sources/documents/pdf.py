"""Read PDF files by pypdf."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ranklet.corpus.collections.bounds import LONGEST, Allowance, DenseFileError
from ranklet.corpus.sources.documents.part import Part, Parts, describe_fault
from ranklet.runtime.ground.errors import CollectionError, InputError
from ranklet.runtime.ground.extras import install

_log = logging.getLogger(__name__)

MOST_PAGES = 10_000
# Operations of all pages: each takes at least a byte, and forms may be drawn thousands of times.
MOST_OPERATIONS = 1_000_000
_LIMITS: Any = {
    "zlib_maximum_output_length": LONGEST,
    "stream_parsing_work_maximum_count": 1_000_000,
}
# A word that goes on in the next line. None is divided after its first letter, as in "e-mail".
_DIVIDED = re.compile(r"(?<=[^\W\d_])(?:(?<=[^\W\d_]{2})[-\u2010]|\u00ad)[ \t]*\n(?=[^\W\d_])")
_NO_TITLE = re.compile(
    r"\.(doc|dot|docx|docm|odt|rtf|txt|wpd|wps|pages|ppt|pps|pptx|ppsx|odp|key|xls|xlsx|xlsm|ods|csv"
    r"|pdf|ps|eps|tex|dvi|ltx|indd|inx|idml|qxd|qxp|pmd|p65|fm|book|pub|vsd|vsdx|dwg|dxf|ai|cdr|psd"
    r"|html?|xhtml|xml|md|epub|msg|eml|tiff?|jpe?g|png|gif|bmp)$"
    r"|^(untitled|microsoft word|powerpoint|slide 1)\b|^([a-z]:|file:)[\\/]",
    re.IGNORECASE,
)
_FONT_TABLE = 1 << 22  # bytes that say which characters a font has


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
        drawn = _Drawn(path)

        def count(_: bytes, operands: Sequence[Any], *__: object) -> None:
            nonlocal left
            left -= 1
            drawn.show(_count_codes(operands))
            if left < 0:
                raise DenseFileError(f"{path} draws more than its size allows; divide it")

        for number in range(1, pages + 1):
            text, fault = "", ""
            with _quiet(), pypdf.apply_configuration(**_LIMITS):
                try:
                    page = reader.pages[number - 1]
                    drawn.begin(page)
                    text = page.extract_text(visitor_operand_before=count)
                except Exception as error:
                    fault = describe_fault(path, error)
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


def _count_codes(operands: Sequence[Any]) -> int:
    """Return how many codes of characters an operation shows at most."""
    return sum(
        len(each) if isinstance(each, str | bytes) else _count_codes(each)
        for each in operands
        if isinstance(each, str | bytes | list)
    )


class _Drawn:
    """What the pages of a file draw, of which a few bytes may stand for much."""

    def __init__(self, path: Path) -> None:
        self._path, self._allowance = path, Allowance(path, "bytes")
        # The most characters that a code stands for, by the identities of what the reader keeps.
        self._known = dict[int, int]()
        self._longest = self._room = 0
        self._unpacked = list[Any]()

    def begin(self, page: Any) -> None:
        """Begin a page.

        Raises:
            CollectionError: its content, or a font, is larger than in honest files.
        """
        self._forget()
        contents = _inside(page, "/Contents")
        several = isinstance(contents, list)
        for each in [each.get_object() for each in contents] if several else [contents]:
            self._unpack(each)
        self._longest, self._room = self._find_longest(page), LONGEST

    def _forget(self) -> None:
        """Forget what was unpacked for a page, which the reader would keep."""
        for each in self._unpacked:
            each.decoded_self = None
        self._unpacked.clear()

    def show(self, codes: int) -> None:
        """Count codes that a page shows.

        Raises:
            CollectionError: they may stand for more characters than a text has.
        """
        self._allowance.take(codes)
        self._room -= self._longest * codes
        if self._room < 0:
            raise CollectionError(
                f"{self._path} has more than {LONGEST:,} characters on a page; divide it"
            )

    def _find_longest(self, page: Any) -> int:
        """Return the most characters that a code stands for in any font of a page."""
        longest, waiting, seen = 1, [page], set[int]()
        while waiting:
            resources = _inside(waiting.pop(), "/Resources")
            if id(resources) in seen:
                continue
            seen.add(id(resources))
            for font in _inside(resources, "/Font").values():
                longest = max(longest, self._of_font(font.get_object()))
            for each in _inside(resources, "/XObject").values():
                if _inside(drawn := each.get_object(), "/Subtype") == "/Form":
                    waiting.append(drawn)
                    if id(drawn) not in self._known:
                        self._known[id(drawn)] = len(self._unpack(drawn))
        return longest

    def _of_font(self, font: Any) -> int:
        if id(font) not in self._known:
            data = self._unpack(_inside(font, "/ToUnicode"))
            if len(data) > _FONT_TABLE:
                raise CollectionError(
                    f"{self._path} has a font of more than {_FONT_TABLE:,} bytes; save it anew"
                )
            units = [len(each[0]) // 4 for each in re.finditer(rb"<[^<>]*>", data)]
            names = _inside(_inside(font, "/Encoding"), "/Differences")
            units += [len(each) for each in names if isinstance(each, str)]
            self._known[id(font)] = max([1, *units])
        return self._known[id(font)]

    def _unpack(self, stream: Any) -> bytes:
        if not hasattr(stream, "get_data"):
            return b""
        data: bytes = stream.get_data()
        self._unpacked.append(stream)
        self._allowance.take(len(data))
        return data


def _inside(value: Any, key: str) -> Any:
    """Return what a dictionary of a PDF has there; an empty one if it has nothing."""
    found = value.get(key) if isinstance(value, dict) else None
    return {} if found is None else found.get_object()


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
