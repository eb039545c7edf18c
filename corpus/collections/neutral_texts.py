"""Texts that complete the probes of a small collection: sentences in several languages and scripts.

They are put together of the phrases in neutral_texts.txt, always in the same way, so that every
proof of the same model is the same. They have no meaning beyond that, and nobody judged them.
"""

from collections.abc import Iterator
from functools import cache
from itertools import count
from math import prod
from pathlib import Path

from ranklet.runtime.storage.package_files import package_text

_UNSPACED, _CHINESE_STOP = ("th", "zh", "ja"), ("zh", "ja")
# What is no sentence; a proof has all of them.
_ODD = (
    "§",
    "42",
    "INVOICE NO. 2024-0817/B: 1,299.00 EUR (incl. 19% VAT), due on 31/12/2024",
    "def area(width: float, height: float) -> float:\n    return width * height  # in m²",
    "https://www.example.org/a/b?page=2&sort=asc#top user@example.org",
    "🙂🚲 ☂ → ½ ≠ ∞",
    "naïve café — “quoted”… it's A.B.C.; co-operate/re-enter\ttab",
    "Москва Tokyo 東京 αβγ mixed",
    "unbrokenwordthatgoesonandon" * 12,
)
_STRIDE = 7919  # a prime, so that neighbouring sentences share few phrases
_SENTENCES = (1, 3, 8, 2, 5, 1, 13, 4, 2, 6)  # of documents, in turn
# Documents that most models do not read to their end. Models that read thousands of tokens do;
# texts longer than that would take a processor minutes.
_LONG, _LONG_SENTENCES = (5, 44), 90


@cache
def neutral_queries(number: int) -> tuple[str, ...]:
    """Return different short texts: phrases, sentences and questions, half of them in English."""
    return _first(number, _queries())


@cache
def neutral_documents(number: int) -> tuple[str, ...]:
    """Return different texts of one word to some thousand characters, half of them in English."""
    return _first(number, _documents())


def _first(number: int, texts: Iterator[str]) -> tuple[str, ...]:
    """Return the first different texts of a source that has more of them."""
    found: dict[str, None] = {}
    while len(found) < number:
        found[next(texts)] = None
    return tuple(found)


def _queries() -> Iterator[str]:
    for number in count():
        language = _language(number)
        whole, parts = _sentence(language, 2 * number + 1)
        if number % 10 == 3 and number // 10 < len(_ODD):
            yield _ODD[number // 10]
        elif number % 4 == 0:
            yield whole
        elif number % 4 == 1:
            yield parts[-1] if number % 8 == 1 else parts[0]
        else:
            yield _joined(language, parts[1:3]) + ("?" if number % 3 == 0 else "")


def _documents() -> Iterator[str]:
    first = 0
    for number in count():
        language = _language(number)
        size = _LONG_SENTENCES if number in _LONG else _SENTENCES[number % len(_SENTENCES)]
        if number % 10 == 8 and number // 10 < len(_ODD):
            yield _ODD[number // 10]
            continue
        space = "" if language in _CHINESE_STOP else " "
        yield space.join(_sentence(language, first + each)[0] for each in range(size))
        first += size


@cache
def _phrases() -> dict[str, list[str]]:
    """Return who, does, what and where by language, in the order in which it puts them.

    There is | between phrases.
    """
    parts = package_text(Path(__file__).with_name("neutral_texts.txt")).split("\n\n")
    return {language: lists for language, *lists in map(str.splitlines, parts)}


def _language(number: int) -> str:
    english, *others = _phrases()
    return english if number % 2 == 0 else others[number // 2 % len(others)]


def _sentence(language: str, number: int) -> tuple[str, list[str]]:
    """Return a sentence and its phrases; a number past the last sentence starts over."""
    lists = [phrases.split("|") for phrases in _phrases()[language]]
    rest, parts = number * _STRIDE % prod(map(len, lists)), []
    for phrases in lists:
        rest, at = divmod(rest, len(phrases))
        parts.append(phrases[at])
    return _joined(language, parts) + ("。" if language in _CHINESE_STOP else "."), parts


def _joined(language: str, parts: list[str]) -> str:
    return ("" if language in _UNSPACED else " ").join(parts)
