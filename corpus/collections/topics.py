"""Read TREC topics, in SGML with open tags or in XML; a topic's title is its query."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from ranklet.corpus.collections.trec import read_lines
from ranklet.runtime.ground.errors import CollectionError

_TOPIC = re.compile(r"<top(ic)?\b(?P<attributes>[^>]*)>(?P<body>.*?)</top(ic)?>", re.S | re.I)
_NUMBER = re.compile(r"<num>\s*(?:number:)?\s*([^\s<]+)", re.I)
_ATTRIBUTE = re.compile(r"\bnumber\s*=\s*[\"']([^\"']+)", re.I)
_TITLE = re.compile(r"<(?:title|query)>\s*(?:topic:)?([^<]*)", re.I)


def are_topics(begin: str) -> bool:
    """Return whether a file that begins so has topics.

    >>> are_topics("<top>"), are_topics('<topic number="1">'), are_topics("top hat")
    (True, True, False)
    """
    return re.match(r"\s*(<\?xml[^>]*>\s*)?<top", begin, re.I) is not None


def read_topics(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the number and the title of each topic of a file, ``.gz`` or not.

    Raises:
        CollectionError: there is none, or one has no number or no title.
    """
    return topics_in("".join(line for _, line in read_lines(path)), str(path))


def topics_in(text: str, where: str) -> Iterator[tuple[str, str]]:
    """Yield the number and the title of each topic of a text; see `read_topics`."""
    count = 0
    for count, found in enumerate(_TOPIC.finditer(text), 1):
        body = found["body"]
        number = _NUMBER.search(body) or _ATTRIBUTE.search(found["attributes"])
        title = _TITLE.search(body)
        words = unescape(title[1]).split() if title else []
        if number is None or not words:
            raise CollectionError(
                f"{where}: topic {count} has no {'title' if number else 'number'}; expected <num> "
                "and <title>, or a number in <topic> and <query>"
            )
        yield number[1], " ".join(words)
    if not count:
        raise CollectionError(f"{where}: there is no <top> … </top> in the file")
