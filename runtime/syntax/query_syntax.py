"""Queries with phrases, excluded words and prefixes, for callers who ask for this syntax."""

import re
from dataclasses import dataclass
from typing import Self

from ranklet.runtime.arguments import listed
from ranklet.runtime.errors import InputError
from ranklet.runtime.text.spellings import joined_acronyms

# An optional minus, then a quoted phrase or anything up to a space; both may be typographic.
_QUOTES = '"“”„‟«»＂'
_PART = re.compile(rf"([-‐‑–−﹣－]?)(?:[{_QUOTES}]([^{_QUOTES}]*)[{_QUOTES}]|(\S+))")
_PARTS = ("phrases", "prefixes", "excluded", "excluded_phrases", "excluded_prefixes")


@dataclass(frozen=True)
class Query:
    """A query whose words are not all alike; `Bundle.rank` takes it in place of a text.

    Attributes:
        text: the words that are ranked by, those of phrases and prefixes included.
        phrases: texts that a hit must contain word by word.
        prefixes: beginnings of words. Words that begin so are added to the query.
        excluded: words that no hit contains in any inflection.
        excluded_phrases: texts that no hit contains word by word.
        excluded_prefixes: beginnings of words that no hit contains.
        typos: whether a word that the bundle does not know is replaced by one that differs in one
            letter.

    Raises:
        InputError: nothing is left to rank by, or a part is no text.
    """

    text: str
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()
    excluded_prefixes: tuple[str, ...] = ()
    typos: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(f"a query's text must be a string, not {type(self.text).__name__}")
        if not self.text.strip():
            raise InputError("the query has no word to rank by; add one that is not excluded")
        for name in _PARTS:
            parts = tuple(listed(getattr(self, name), name, "put the one in a list"))
            if not all(isinstance(each, str) for each in parts):
                raise InputError(f"{name} must be texts, not {parts!r:.80}")
            object.__setattr__(self, name, parts)
        if type(self.typos) is not bool:
            raise InputError(f"typos is {self.typos!r}; it must be True or False")

    @classmethod
    def parse(cls, query: str, *, typos: bool = False) -> Self:
        """Read ``"exact phrase"``, ``-word``, ``-"exact phrase"``, ``word*`` and ``-word*``.

        A hyphen within a word is none of these.

        Args:
            query: what a person typed.
            typos: see `typos`.

        Raises:
            InputError: a quote is not closed, a phrase is empty, a star is not at the end of a word
                of two letters or more, a minus stands alone, or nothing is left to rank by.

        >>> Query.parse('"knead it" -wheat brea*')
        Query('knead it brea', phrases=('knead it',), prefixes=('brea',), excluded=('wheat',))
        """
        if not isinstance(query, str):
            raise InputError(f"query must be a string, not {type(query).__name__}")
        words: list[str] = []
        found: dict[str, list[str]] = {name: [] for name in _PARTS}
        for minus, quoted, word in _PART.findall(joined_acronyms(query)):
            kind, part = _part(quoted, word, query)
            if minus:
                found[f"excluded_{kind}" if kind else "excluded"].append(part)
            else:
                words.append(part)
                if kind:
                    found[kind].append(part)
        parts = {name: tuple(dict.fromkeys(values)) for name, values in found.items()}
        return cls(" ".join(words), **parts, typos=typos)

    def __repr__(self) -> str:
        names = (*_PARTS, "typos")
        others = [f"{name}={value!r}" for name in names if (value := getattr(self, name))]
        return f"Query({', '.join([repr(self.text), *others])})"

    @property
    def parts(self) -> int:
        """How many phrases, prefixes and excluded words there are."""
        return sum(len(getattr(self, name)) for name in _PARTS)

    @property
    def restricts(self) -> bool:
        """Whether some documents cannot be hits."""
        excluded = (self.excluded, self.excluded_phrases, self.excluded_prefixes)
        return bool(self.phrases) or any(excluded)


def typed_query(text: str | Query, *, syntax: bool = False, typos: bool = False) -> str | Query:
    """Return what a person typed as a query, which stays a plain text if both are off.

    Args:
        text: what was typed, or a query that was read before, if both are off.
        syntax: whether its signs have a meaning; see `Query.parse`.
        typos: whether unknown words are corrected; see `Query`.

    Raises:
        InputError: as `Query.parse`; or a query that was read before shall be read again.
    """
    for name, value in (("syntax", syntax), ("typos", typos)):
        if type(value) is not bool:
            raise InputError(f"{name} is {value!r:.60}; it must be True or False")
        if value and isinstance(text, Query):
            raise InputError(f"{name} says how a text is read; a Query says that itself")
    if syntax and isinstance(text, str):
        return Query.parse(text, typos=typos)
    return Query(text, typos=True) if typos and isinstance(text, str) and text.strip() else text


def _part(quoted: str, word: str, query: str) -> tuple[str, str]:
    """Return the kind of a part, "" for a word, and its text without signs."""
    if not word:
        if not quoted.strip():
            raise InputError(f'the query {query!r:.80} has an empty phrase; leave "" out')
        return "phrases", quoted.strip()
    if any(quote in word for quote in _QUOTES):
        raise InputError(
            f"a quote in the query {query!r:.80} is not closed, or has no space before it; write "
            '"a phrase"'
        )
    if word == "-":
        raise InputError("a minus stands alone in the query; write -word without a space")
    if "*" not in word:
        return "", word
    stem = word.removesuffix("*")
    if "*" in stem or len(stem) < 2:
        raise InputError(
            f"{word!r:.40} is no prefix; write two letters or more and one star, as wo*"
        )
    return "prefixes", stem
