"""Read books: .epub (EPUB 3)."""

from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote

from ranklet.corpus.sources.documents.archive import Archive
from ranklet.corpus.sources.documents.part import Part, Parts
from ranklet.corpus.sources.html import declared_encoding, read_page
from ranklet.runtime.errors import CollectionError

_PAGES = ("application/xhtml+xml", "text/html")


def read_book(path: Path) -> Parts:
    """Yield the chapters of a book in their order, without its table of contents."""
    with Archive(path) as archive:
        if "META-INF/rights.xml" in archive:
            raise CollectionError(f"{path} is encrypted for its buyer, so it cannot be read")
        package = next(
            attributes["full-path"]
            for _, name, attributes in archive.events("META-INF/container.xml")
            if name == "rootfile"
        )
        title, chapters = _contents(archive, package)
        for page, name in enumerate(chapters, 1):
            text = archive.content(name).decode("utf-8", "surrogateescape")
            chapter = read_page(declared_encoding(text, "utf-8"))
            parts = dict.fromkeys(filter(None, (title, chapter.title)))
            yield Part(": ".join(parts), chapter.text, page, headings=chapter.headings)


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
