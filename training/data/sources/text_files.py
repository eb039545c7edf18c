"""Read texts, Markdown and HTML files."""

import re
from html.parser import HTMLParser
from pathlib import Path

from ranklet.runtime.errors import CollectionError
from ranklet.training.data.sources.opening import format_suffix, open_text
from ranklet.training.data.sources.records import Bad, Record, Records, is_decoded, not_decoded

MARKDOWN, HTML = (".md", ".markdown"), (".html", ".htm")
TEXTS = (".txt", *MARKDOWN, *HTML)

_HEADING = re.compile(r"^#+[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
# Tags whose contents readers do not see, and tags that end a line.
_HIDDEN = {"script", "style", "template", "noscript", "svg"}
_BLOCKS = re.compile(
    "address|article|aside|blockquote|br|dd|div|d[lt]|fieldset|fig(caption|ure)|footer|form|h[1-6r]"
    "|header|li|main|nav|[ou]l|p|pre|section|table|t[dhr]|title"
)


def read_texts(files: list[Path], folder: Path, encoding: str) -> Records:
    """Yield one record per file, with its path below the folder as its id.

    The title is the first heading of Markdown, the title of HTML, or the file's name.
    """
    for path in files:
        try:
            with open_text(path, encoding) as file:
                text = file.read().replace("\r\n", "\n")
        except CollectionError as error:
            yield Bad(str(path), "broken", str(error).removeprefix(f"{path} "))
            continue
        if not is_decoded(text):
            yield not_decoded(str(path), text)
            continue
        suffix = format_suffix(path)
        title, body = titled(text, suffix)
        name = path.relative_to(folder).as_posix()
        if not title and body.strip():
            title = path.name[: path.name.lower().rindex(suffix)] if suffix else path.name
        yield Record(str(path), {"id": name, "title": title, "text": body})


def titled(text: str, suffix: str) -> tuple[str, str]:
    r"""Return the title of a text, which may be empty, and its readable text.

    >>> titled("# Cats\nThey sleep.", ".md")
    ('Cats', 'They sleep.')
    >>> titled("<title>Cats</title><p>They <b>sleep</b>.</p><script>x</script>", ".html")
    ('Cats', 'They sleep.')
    """
    if suffix in MARKDOWN:
        heading = _HEADING.search(text)
        if heading is None:
            return "", text
        rest = text[: heading.start()] + text[heading.end() :]
        return heading[1], rest.strip()
    if suffix in HTML:
        parser = _Reader()
        # Some versions of HTMLParser raise at a declaration such as <![x[, which is no HTML.
        parser.feed(text.replace("<![", "<! ["))
        parser.close()
        return _tidy(parser.title).replace("\n", " "), _tidy(parser.body)
    return "", text


class _Reader(HTMLParser):
    """Collect the title and the visible text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self._title: list[str] = []
        self._body: list[str] = []
        self._open: list[str] = []

    @property
    def title(self) -> str:
        return "".join(self._title)

    @property
    def body(self) -> str:
        return "".join(self._body)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        if tag in _HIDDEN or tag == "title":
            self._open.append(tag)
        if _BLOCKS.fullmatch(tag):
            self._body.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            # An unclosed tag inside must not hide the rest of the page.
            del self._open[self._open.index(tag) :]
        if _BLOCKS.fullmatch(tag):
            self._body.append("\n")

    def handle_data(self, data: str) -> None:
        if self._open == ["title"]:  # a drawing inside the page may have a title, too
            self._title.append(data)
        elif not self._open:
            self._body.append(data)


def _tidy(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
