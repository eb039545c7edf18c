"""Read Markdown as its readers see it: the title, and the text without marks, tags and addresses.

It is CommonMark with tables, footnotes, and the front matter and anchors of site generators. A text
becomes HTML first, so that what is HTML in it is read as in any page.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from itertools import count, islice, pairwise
from typing import Any

from ranklet.corpus.collections.bounds import count_pieces
from ranklet.corpus.collections.headings import shifted
from ranklet.corpus.sources.html import RAW, Page, read_page
from ranklet.runtime.ground.errors import CollectionError

_TOKENS = 1 << 19  # of which each takes half a kilobyte of memory
_TRIED = 100  # headings without words
_HEADING = re.compile(r"<!--.*?-->|<h([1-6])(?:\s[^>]*)?>", re.IGNORECASE | re.DOTALL)
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}]*\}[ \t]*\Z")  # such as {#anchor}
_FOOTNOTE = re.compile(r"\[\^([^\]\s]+)\]:[ \t]*")
_FOOTNOTE_MARK = re.compile(r"\[\^([^\]\s]+)\]")
_TAG_NAME = re.compile(r"</?([a-zA-Z][\w-]*)")

_YAML = re.compile(r"---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_YAML_KEY = re.compile(r"(?:[ \t]*(?:#.*)?\n)*[\w\"'.-]+[ \t]*:(?:[ \t]|\n)")
# The value may go on in lines that are indented.
_YAML_TITLE = re.compile(r"^([\"']?)title\1[ \t]*:[ \t]*(\S.*\n(?:[ \t]+.*\n)*)", re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n((?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
_TOML_TITLE = re.compile(r"^title[ \t]*=.*\n", re.MULTILINE)


def read_markdown(text: str) -> Page:
    r"""Return the title of a text, which may be empty, and the text that readers see without it.

    The title is that of the front matter, or else the first heading that has words. A line in a
    code block, a comment, a list or a quotation is none. Other front matter remains in the text.

    >>> read_markdown("~~~\n# code\n~~~\nCats **and** [dogs](d.md)\n====\nThey&nbsp;sleep.")
    Page(title='Cats and dogs', text='# code\n\nThey sleep.', headings=())
    >>> read_markdown("---\ntitle: 'Cats'\ntags: [pets]\n---\n# Heading")[:2]
    ('Cats', 'tags: [pets]\n\nHeading')
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    count_pieces(text, "\n")
    title, front, body = _front_matter(text)
    page = _render(body)
    if not title:
        title, page = _cut_heading(page)
    front, read = front.strip(), read_page(page)
    if not (front and read.text):
        return Page(title, front or read.text, read.headings)
    headings = shifted(read.headings, len(front) + 2)
    return Page(title, f"{front}\n\n{read.text}", headings)


def _front_matter(text: str) -> tuple[str, str, str]:
    """Return the title in the front matter, the rest of it, and the text after it."""
    if (found := _YAML.match(text)) and _YAML_KEY.match(found[1]):
        named = _YAML_TITLE.search(found[1])
        title = _yaml_value(named[2]) if named else ""
        rest = found[1].replace(named[0], "", 1) if named and title else found[1]
        return title, rest, text[found.end() :]
    if found := _TOML.match(text):
        try:
            value = tomllib.loads(found[1]).get("title")
        except (tomllib.TOMLDecodeError, RecursionError):
            return "", "", text
        title = " ".join(value.split()) if isinstance(value, str) else ""
        rest = _TOML_TITLE.sub("", found[1], count=1) if title else found[1]
        return title, rest, text[found.end() :]
    return "", "", text


def _yaml_value(text: str) -> str:
    """Return a string of YAML on one line; "" if it is null."""
    first, *more = text.strip().split("\n")
    if re.fullmatch(r"[|>][-+\d]*([ \t]+#.*)?", first):
        return " ".join(" ".join(more).split())
    value = " ".join(text.split())
    if quoted := re.match(r'"(?:[^"\\]|\\.)*+"', value):
        try:
            return " ".join(str(json.loads(quoted[0])).split())
        except ValueError:  # an escape that JSON does not have
            return quoted[0][1:-1]
    if quoted := re.match(r"'((?:[^']|'')*+)'", value):
        return quoted[1].replace("''", "'").strip()
    value = re.sub(r"(^| )#.*", "", value)
    return "" if value.lower() in ("null", "~") else value


def _cut_heading(page: str) -> tuple[str, str]:
    """Return the first heading of a page that has words, in words, and the page without it."""
    for heading in islice(_HEADING.finditer(page), _TRIED):
        end = page.find(f"</h{heading[1]}", heading.end()) if heading[1] else -1
        if end < 0:  # it is a comment, or never ends
            continue
        if title := " ".join(read_page(page[heading.end() : end]).text.split()):
            return title, f"{page[: heading.start()]}\n{page[end:]}"
    return "", page


def _render(text: str) -> str:
    """Return Markdown as HTML, in which only headings that could be the title are headings."""
    parser, found = _parser(), dict[str, Any]()
    tokens = parser.parse(text, found)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            last = inside.children[-1:]
            if last and last[0].type == "text":
                last[0].content = _ATTRIBUTES.sub("", last[0].content)
        if token.type.startswith("heading_") and token.level:  # of a list or a quotation
            token.tag = "p"
    return str(parser.renderer.render(tokens, parser.options, found))


class _Tokens(list[Any]):
    """Tokens, of which a text does not become more than memory holds."""

    def __init__(self, number: "count[int]") -> None:
        super().__init__()
        self._number = number

    def append(self, token: Any) -> None:
        if next(self._number) > _TOKENS:
            raise CollectionError(f"has more than {_TOKENS:,} marks and paragraphs; divide it")
        super().append(token)


def _count_blocks(state: Any) -> None:
    state.env["tokens"] = count()
    state.tokens = _Tokens(state.env["tokens"])


def _count_marks(state: Any) -> None:
    for token in state.tokens:
        if token.type == "inline":
            token.children = _Tokens(state.env["tokens"])


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph"]})
    parser.inline.ruler.before("link", "footnote", _footnote_mark)
    parser.core.ruler.before("block", "count_blocks", _count_blocks)
    parser.core.ruler.before("inline", "count_marks", _count_marks)
    parser.add_render_rule("html_inline", _inline_tag)
    # Many links may name one address, which nobody reads.
    parser.add_render_rule("link_open", lambda *_: "<a>")
    parser.add_render_rule("image", _image)
    return parser


def _footnote(state: Any, line: int, _: int, silent: bool) -> bool:
    """Leave out the mark before the text of a footnote, which other rules then read."""
    begin = state.bMarks[line] + state.tShift[line]
    found = _FOOTNOTE.match(state.src, begin, state.eMarks[line])
    if found is None or state.is_code_block(line):
        return False
    if not silent:
        state.env.setdefault("footnotes", set()).add(found[1])
        state.bMarks[line], state.tShift[line], state.sCount[line] = found.end(), 0, state.blkIndent
    return silent


def _footnote_mark(state: Any, _: bool) -> bool:
    """Leave out a mark that refers to a footnote of this text."""
    found = _FOOTNOTE_MARK.match(state.src, state.pos)
    if found is None or found[1] not in state.env.get("footnotes", ()):
        return False
    state.pos = found.end()
    return True


def _image(renderer: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """Return a picture without its address."""
    tokens[at].attrs = {}
    return str(renderer.image(tokens, at, options, env))


def _inline_tag(_: Any, tokens: Sequence[Any], at: int, *__: Any) -> str:
    """Return a tag inside of a paragraph; without one that would hide all that follows it."""
    found = _TAG_NAME.match(tag := tokens[at].content)
    return "" if found and found[1].lower() in RAW else str(tag)
