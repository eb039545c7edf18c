"""Read zip files of XML, which Office files and books are, within bounds and without entities."""

import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any, NamedTuple, TypeVar
from xml.parsers import expat

from ranklet.corpus.collections.bounds import HELD, LONGEST, Allowance, DenseFileError
from ranklet.runtime.ground.errors import CollectionError

_PIECE = 1 << 16
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack a whole block at once
_DEEPEST = 1_000  # elements inside of each other
_ENCRYPTED = b"\xd0\xcf\x11\xe0"  # begins encrypted Office files, and those of before 2007

# The beginning or end of an element, or a text: "begin", "end" or "text"; the name of the element
# without its namespace, or the text; and the attributes, those of relationships with "r:" before.
Event = tuple[str, str, Mapping[str, str]]
NO_ATTRIBUTES: Mapping[str, str] = {}
_T = TypeVar("_T")


class Related(NamedTuple):
    """A part that another one names: the last word of its type, and where it is."""

    kind: str
    target: str


class Archive:
    """A zip file, of which only so much is unpacked as honest files stand for.

    Raises:
        CollectionError: the file cannot be read, is none, or is encrypted.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.open("rb")
        try:
            self._zip = zipfile.ZipFile(self._file)
        except zipfile.BadZipFile as error:
            self._file.seek(0)
            old = self._file.read(len(_ENCRYPTED)) == _ENCRYPTED
            self._file.close()
            raise CollectionError(
                f"{path} is encrypted, or an Office file of before 2007; save it without a "
                f"password as {path.suffix}"
                if old
                else f"{path} is damaged ({error}); fetch the file again"
            ) from None
        self._allowance, self._memory = Allowance(path, "bytes"), HELD

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()  # a part that was not read to its end would keep it open

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a part.

        Raises:
            CollectionError: the part is missing or encrypted, or the file stands for too much.
        """
        info = self._zip.NameToInfo.get(name)
        if info is None:
            raise CollectionError(f"{self._path} is damaged: it has no {name}")
        if info.flag_bits & 1 or info.compress_type not in _PACKED:
            raise CollectionError(f"{self._path} is encrypted, or packed in an unusual way")
        with self._zip.open(info) as file:
            while piece := file.read(_PIECE):
                self._allowance.take(len(piece))
                yield piece

    def content(self, name: str) -> bytes:
        """Return all bytes of a part.

        Raises:
            CollectionError: see `pieces`; or it has more than `LONGEST`.
        """
        data = bytearray()
        for piece in self.pieces(name):
            data += piece
            if len(data) > LONGEST:
                raise CollectionError(
                    f"{self._path} has more than {LONGEST:,} bytes in one part; divide it"
                )
        return bytes(data)

    def events(self, name: str) -> Iterator[Event]:
        """Yield what an XML part has, in its order.

        Raises:
            CollectionError: see `pieces`; or it is no XML, or declares entities.
        """
        return xml_events(self.pieces(name), f"{self._path} cannot be read, because its {name}")

    def related(self, name: str = "") -> dict[str, Related]:
        """Return the parts that a part names, by the ids that it uses; those of the file for ""."""
        folder, _, last = name.rpartition("/")
        relations = join(folder, "_rels", f"{last}.rels")
        if relations not in self:
            return {}
        found = (
            attributes
            for kind, element, attributes in self.events(relations)
            if (kind, element) == ("begin", "Relationship")
        )
        return {
            each.get("Id", ""): Related(
                each.get("Type", "").rpartition("/")[2],
                normpath(join("/", dirname(name), each.get("Target", ""))).lstrip("/"),
            )
            for each in self.kept(found)
            if each.get("TargetMode") != "External"
        }

    def kept(self, values: Iterable[_T]) -> Iterator[_T]:
        """Yield values that the caller keeps while the rest of the file is read.

        Raises:
            DenseFileError: all of them together take more than `HELD` bytes of memory.
        """
        for each in values:
            self._memory -= _size(each)
            if self._memory < 0:
                raise DenseFileError(
                    f"{self._path} has more parts than {HELD:,} bytes of memory hold; divide it"
                )
            yield each

    def main(self) -> str:
        """Return the part that is the document.

        Raises:
            CollectionError: there is none.
        """
        for kind, target in self.related().values():
            if kind == "officeDocument":
                return target
        raise CollectionError(f"{self._path} is no Office file, although its name says so")


def xml_events(pieces: Iterable[bytes], what: str) -> Iterator[Event]:
    """Yield the events of an XML document, of which only one piece is held.

    Raises:
        CollectionError: it is no XML, or declares entities, which may stand for anything.
    """
    events: list[Event] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def begin(element: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise CollectionError(f"{what} nests more than {_DEEPEST:,} elements")
        named = {_attribute(key): value for key, value in attributes.items()}
        events.append(("begin", element.rpartition(" ")[2], named))

    def end(element: str) -> None:
        nonlocal depth
        depth -= 1
        events.append(("end", element.rpartition(" ")[2], NO_ATTRIBUTES))

    def refuse(*_: object) -> None:
        raise CollectionError(f"{what} declares entities, which no such file needs")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler = lambda text: events.append(("text", text, NO_ATTRIBUTES))
    parser.EntityDeclHandler = refuse
    quiet = 0  # bytes since the last event, of an attribute that has no end
    try:
        for piece in pieces:
            parser.Parse(piece)
            quiet = 0 if events else quiet + len(piece)
            if quiet > LONGEST:
                raise CollectionError(f"{what} has a tag of more than {LONGEST:,} bytes")
            yield from events
            events.clear()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise CollectionError(f"{what} is no XML ({error})") from None
    yield from events


def _size(value: Any) -> int:
    """Return the bytes of memory that a value takes with the values inside of it."""
    size = sys.getsizeof(value)
    if isinstance(value, dict | tuple):
        size += sum(map(_size, value.values() if isinstance(value, dict) else value))
    return size


def _attribute(name: str) -> str:
    """Return the name of an attribute without its namespace.

    >>> _attribute("http://a.b/main val"), _attribute("http://a.b/relationships id")
    ('val', 'r:id')
    """
    space, _, local = name.rpartition(" ")
    return f"r:{local}" if space.endswith("/relationships") else local
