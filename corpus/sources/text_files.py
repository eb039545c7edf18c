"""Read texts, Markdown and HTML files."""

from pathlib import Path

from ranklet.corpus.collections.opening import Position, content, format_suffix, open_text
from ranklet.corpus.sources.cells import Bad, Record, is_decoded, not_decoded
from ranklet.corpus.sources.html import declared_encoding, read_page
from ranklet.corpus.sources.markdown import read_markdown
from ranklet.runtime.errors import CollectionError

MARKDOWN, HTML = (".md", ".markdown"), (".html", ".htm")
TEXTS = (".txt", *MARKDOWN, *HTML)
EXAMPLE = {"id": "a.txt", "title": "a", "text": "a text of some words"}  # the fields of a record


def read_text_file(path: Path, folder: Path, encoding: str, position: Position) -> Record | Bad:
    """Return the document in a file, with its path below the folder as its id.

    The title is that of Markdown or HTML, or the file's name. A page that is not in the encoding
    may say another one itself.
    """
    try:
        with open_text(path, encoding, position) as file:
            text = content(path, file).replace("\r\n", "\n")
    except CollectionError as error:
        return Bad(str(path), "broken", str(error).removeprefix(f"{path} "))
    suffix = format_suffix(path)
    if suffix in HTML:
        text = declared_encoding(text, encoding)
    if not is_decoded(text):
        return not_decoded(str(path), text)
    title, body = titled(text, suffix)
    name = path.relative_to(folder).as_posix()
    if not title and body.strip():
        title = path.name[: path.name.lower().rindex(suffix)] if suffix else path.name
    return Record(str(path), {"id": name, "title": title, "text": body})


def titled(text: str, suffix: str) -> tuple[str, str]:
    r"""Return the title of a text, which may be empty, and its readable text.

    >>> titled("# Cats\nThey sleep.", ".md")
    ('Cats', 'They sleep.')
    >>> titled("<title>Cats</title><p>They <b>sleep</b>.</p><script>x</script>", ".html")
    ('Cats', 'They sleep.')
    """
    if suffix in MARKDOWN:
        return read_markdown(text)
    return read_page(text) if suffix in HTML else ("", text)
