"""What the page says, in the languages that words.json has, and numbers and dates as they write."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ranklet.runtime.storage.package_files import package_text

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt", "ja", "zh")
GROUPED = 10_000, 999_999_999  # smaller whole numbers may be years, larger ones codes
DECIMALS = 2  # a number with more is shown as it is


class Words:
    """The sentences of one language.

    Args:
        language: one of `LANGUAGES`.
    """

    def __init__(self, language: str) -> None:
        self.language = language

    @property
    def said(self) -> Mapping[str, str]:
        """All sentences by their names."""
        return _read()[self.language]

    def __call__(self, name: str, /, **values: object) -> str:
        """Return a sentence, with some values in it.

        >>> Words("de")("page", n=3)
        'Seite 3'
        """
        return self.said[name].format(**values)

    def count(self, name: str, count: int) -> str:
        """Return a sentence about a number of things, of which `name` is the plural.

        >>> Words("en").count("hits", 1), Words("de").count("hits", 12_000)
        ('1 hit', '12.000 Treffer')
        """
        one = f"{name}_one"
        shown = self._grouped(f"{count:,}")
        return self(one if count == 1 and one in self.said else name, n=shown)

    def number(self, value: float, decimals: int = 0) -> str:
        """Return a number as people write it.

        >>> [Words("de").number(*each) for each in ((1299.5, 2), (2024, 0), (0.125, 0))]
        ['1.299,50', '2024', '0,125']
        """
        if decimals or count_decimals(value) in range(1, DECIMALS + 1):
            return self._grouped(f"{value:,.{decimals or count_decimals(value)}f}")
        if float(value).is_integer() and GROUPED[0] <= abs(value) <= GROUPED[1]:
            return self._grouped(f"{value:,.0f}")
        return str(value).removesuffix(".0").replace(".", self.said["decimal"])

    def date(self, text: str) -> str:
        """Return a date, or a moment in UTC, as people write it.

        >>> Words("en").date("2024-05-31"), Words("de").date("2024-05-31T09:30:00+00:00")
        ('31 May 2024', '31. Mai 2024, 09:30')
        """
        moment = datetime.fromisoformat(text)
        month = self.said["months"].split()[moment.month - 1]
        shown = self("date", day=moment.day, month=month, year=moment.year)
        return shown if len(text) == len(date.min.isoformat()) else f"{shown}, {moment:%H:%M}"

    def _grouped(self, text: str) -> str:
        """Return a number that is written as in English."""
        signs = {ord(","): self.said["group"], ord("."): self.said["decimal"]}
        return text.translate(signs)


ENGLISH = Words(LANGUAGES[0])


def count_decimals(value: float) -> int:
    """Return how many decimals a number is written with."""
    return len(repr(float(value)).partition(".")[2].rstrip("0")) if "e" not in repr(value) else 0


def count_most_decimals(values: Iterable[Any]) -> int:
    """Return how many decimals all numbers among values are shown with, as prices have two."""
    numbers = (each for each in values if isinstance(each, int | float))
    most = max(map(count_decimals, numbers), default=0)
    return most if most <= DECIMALS else 0


def choose_language(given: str, texts: Sequence[str], accepted: str) -> str:
    """Return the language of the page.

    Args:
        given: what whoever serves the page has chosen, or "".
        texts: the languages of the documents, most frequent first.
        accepted: the header with which a browser says what its person reads.

    >>> choose_language("", ["fi", "sv"], "fr-CH, fr;q=0.9, en;q=0.8")
    'fr'
    """
    browser = [each.partition(";")[0].strip().lower()[:2] for each in accepted.split(",")]
    wanted = [given, *texts[:1], *browser]
    return next((each for each in wanted if each in LANGUAGES), LANGUAGES[0])


@cache
def _read() -> Mapping[str, Mapping[str, str]]:
    said: Mapping[str, Mapping[str, str]] = json.loads(
        package_text(Path(__file__).parent / "words.json")
    )
    return said
