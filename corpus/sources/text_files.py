"""Read texts, Markdown and HTML, and the pages of other documents."""

from pathlib import Path

from ranklet.corpus.collections.opening import Position, content, format_suffix, open_text
from ranklet.corpus.sources.cells import Bad, Record, Records, is_decoded, not_decoded
from ranklet.corpus.sources.charsets import find_declared_encoding
from ranklet.corpus.sources.documents.part import Part
from ranklet.corpus.sources.documents.reading import READERS, read_parts
from ranklet.corpus.sources.html import Page, read_page
from ranklet.corpus.sources.markdown import read_markdown
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.ground.errors import CollectionError

MARKDOWN, HTML = (".md", ".markdown"), (".html", ".htm")
TEXTS = (".txt", *MARKDOWN, *HTML, *READERS)
EXAMPLE = {"id": "a.txt", "title": "a", "text": "a text of some words"}  # the fields of a record


def read_text_file(path: Path, folder: Path, options: SourceOptions, position: Position) -> Records:
    """Yield the document in a file, or its pages.

    The id is the path below the folder, for a page with its number, such as ``a.pdf#page=3``. The
    title is the file's own one, or else its name.
    """
    suffix, name = format_suffix(path), path.relative_to(folder).as_posix()
    stem = path.name[: path.name.lower().rindex(suffix)] if suffix else path.name
    try:
        if suffix in READERS:
            yield from (_of_part(path, name, stem, part) for part in read_parts(path))
            position.done += path.stat().st_size
        else:
            yield _of_text(path, name, stem, options, position)
    except CollectionError as error:
        yield Bad(str(path), "broken", str(error).removeprefix(f"{path} "))


def _of_part(path: Path, name: str, stem: str, part: Part) -> Record | Bad:
    """Return a page, slide, sheet, chapter or message as a record."""
    if part.fault:
        return Bad(f"{path}#page={part.page}", "broken", part.fault)
    title, text = (each.encode(errors="replace").decode() for each in (part.title, part.text))
    fields = {"id": name, "title": title or stem, "text": text, **part.fields}
    if not part.page:
        return Record(str(path), fields, part.headings)
    place = f"page={part.page}"
    fields |= {"id": f"{name}#{place}", "page": part.page}
    return Record(f"{path}#{place}", fields, part.headings)


def _of_text(
    path: Path, name: str, stem: str, options: SourceOptions, position: Position
) -> Record | Bad:
    """Return a text as a record; a page of HTML that has another encoding may say so itself."""
    with open_text(path, options.encoding, position) as file:
        text = content(path, file).replace("\r\n", "\n")
    suffix = format_suffix(path)
    if suffix in HTML:
        text = find_declared_encoding(text, options.encoding)
    if not is_decoded(text):
        return not_decoded(str(path), text)
    page = Page("", text)
    if suffix in MARKDOWN:
        page = read_markdown(text)
    elif suffix in HTML:
        page = read_page(text, main=not options.whole_pages)
    title = stem if not page.title and page.text.strip() else page.title
    return Record(str(path), {"id": name, "title": title, "text": page.text}, page.headings)
