"""Read books: .epub (EPUB 3)."""

from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from ranklet.corpus.sources.charsets import decode_page
from ranklet.corpus.sources.documents.archive import Archive
from ranklet.corpus.sources.documents.part import Part, Parts
from ranklet.corpus.sources.html import read_page
from ranklet.runtime.ground.errors import CollectionError

_PAGES = ("application/xhtml+xml", "text/html")


def read_book(path: Path) -> Parts:
    """Yield the chapters of a book that have text, in their order, without its contents.

    A chapter that is encrypted for the book's buyer is a fault, and others are read. Many books
    only list fonts as encrypted, so that they cannot be used elsewhere.

    Raises:
        CollectionError: it is damaged, or no chapter has text.
    """
    with Archive(path) as archive:
        package = next(
            attributes["full-path"]
            for _, name, attributes in archive.events("META-INF/container.xml")
            if name == "rootfile"
        )
        title, chapters = _contents(archive, package)
        encrypted = _encrypted(archive)
        empty = True
        for page, name in enumerate(chapters, 1):
            if name in encrypted:
                empty = False
                yield Part("", "", page, fault=f"{name} is encrypted for the book's buyer")
                continue
            chapter = read_page(decode_page(archive.content(name)))
            if chapter.text:  # a cover is a picture
                empty = False
                parts = dict.fromkeys(filter(None, (title, chapter.title)))
                yield Part(": ".join(parts), chapter.text, page, headings=chapter.headings)
    if empty:
        raise CollectionError(f"{path} holds no text; are its chapters pictures?")


def _encrypted(archive: Archive) -> set[str]:
    """Return the names of what is encrypted in a book (EPUB Open Container Format, 4.2.6.3.2)."""
    listed = "META-INF/encryption.xml"
    return {
        normpath(unquote(attributes.get("URI", "")).lstrip("/"))
        for kind, name, attributes in (archive.events(listed) if listed in archive else ())
        if (kind, name) == ("begin", "CipherReference")
    }


def _contents(archive: Archive, package: str) -> tuple[str, list[str]]:
    """Return the title of a book, and the names of its chapters in their order."""
    title, inside = "", False
    items, order = dict[str, str](), list[str]()
    for kind, name, attributes in archive.events(package):
        if kind == "text":
            title += name if inside else ""
        elif name == "title":
            inside = kind == "begin" and not title
        elif kind == "begin" and name == "item":
            shown = "nav" not in attributes.get("properties", "").split()
            if shown and attributes.get("media-type") in _PAGES:
                target = unquote(attributes.get("href", ""))
                items[attributes.get("id", "")] = normpath(join(dirname(package), target))
        elif kind == "begin" and name == "itemref":
            order.append(attributes.get("idref", ""))
    return " ".join(title.split()), [items[each] for each in order if each in items]
