"""Find the title of a text in Markdown, by CommonMark and the front matter of site generators."""

import json
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

# A title stands at the beginning of a text: so many characters are read, then so many.
_READ = (1 << 12, 1 << 16)
_LONGEST = 1000  # characters of a title whose emphasis and links are resolved

_HEADING = re.compile(r"^ {0,3}(#{1,6}([ \t]|$)|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
_YAML = re.compile(r"---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_YAML_KEY = re.compile(r"(?:[ \t]*(?:#.*)?\n)*[\w\"'.-]+[ \t]*:(?:[ \t]|\n)")
# The value may go on in lines that are indented.
_YAML_TITLE = re.compile(r"^([\"']?)title\1[ \t]*:[ \t]*(\S.*\n(?:[ \t]+.*\n)*)", re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n((?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
_TOML_TITLE = re.compile(r"^title[ \t]*=.*\n", re.MULTILINE)


def read_markdown(text: str) -> tuple[str, str]:
    r"""Return the title of a text, which may be empty, and the text without it.

    The title is that of the front matter, or else the first heading that has words. A line in a
    code block, a comment, a list or a quotation is none. Other front matter remains in the text.

    >>> read_markdown("~~~\n# code\n~~~\nCats **and** dogs\n====\nThey sleep.")
    ('Cats and dogs', '~~~\n# code\n~~~\n\nThey sleep.')
    >>> read_markdown("---\ntitle: 'Cats'\ntags: [pets]\n---\n# Heading")
    ('Cats', 'tags: [pets]\n\n# Heading')
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    title, front, body = _front_matter(text)
    if not title:
        title, body = _heading(body)
    return title, "\n\n".join(filter(None, (front.strip(), body.strip())))


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


def _heading(text: str) -> tuple[str, str]:
    """Return the first heading that has words, and the text with an empty line in its place."""
    if not _HEADING.search(text, 0, _READ[-1]):
        return "", text
    for size in _READ:
        complete = len(text) <= size
        part = text if complete else text[: text.rfind("\n", 0, size) + 1]
        tokens = _parser("inline").parse(part)
        last = part.count("\n")
        for token, inside in pairwise(tokens):
            if token.type != "heading_open" or token.level or not inside.content.strip():
                continue
            begin, end = token.map
            if not complete and end >= last:
                break  # the heading may go on
            lines = text.split("\n")
            lines[begin:end] = [""]
            return _words(inside.content), "\n".join(lines)
        if complete:
            break
    return "", text


def _words(content: str) -> str:
    """Return a heading without marks of emphasis, links and code."""
    content = " ".join(content.split())
    if len(content) > _LONGEST:
        return content
    (inline,) = _parser().parseInline(content)
    return " ".join("".join(_shown(inline.children or ())).split()) or content


def _shown(tokens: Iterable[Any]) -> Iterable[str]:
    for token in tokens:
        if token.type in ("text", "code_inline", "text_special"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.children:  # a picture's description
            yield from _shown(token.children)


@cache
def _parser(*disabled: str) -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").disable([*disabled])
