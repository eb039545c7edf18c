"""Signs that have a meaning in a query with syntax, as far as a plain text has them, too."""

import re
from collections.abc import Mapping

QUOTES = '"“”„‟«»＂'
FIELD = rf"[^\W\d_][^\s:{QUOTES}]*:(?=[^\s:/])"  # a colon before another, or a slash, follows none
OR = "OR"
_SIGN = rf"(?<!\S)(?:\+(?=[^\W\d_{QUOTES}])|{FIELD}|(?<=\S\s)OR(?=\s+\S))"


def unread_signs(text: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return signs of a plain text that would have a meaning in a query with syntax.

    A colon is one only after the name of a field, because others are in many texts.

    >>> unread_signs("Title:flour +rye OR spelt at 10:30, std::cout", {"title": ""})
    ('Title:', '+', 'OR')

    Args:
        text: the text.
        fields: what a person could mean by a word before a colon, in small letters.
    """
    if "+" not in text and ":" not in text and OR not in text:  # as in most queries
        return ()
    found = dict.fromkeys(re.findall(_SIGN, text))
    shouted = text.isupper()
    return tuple(
        each
        for each in found
        if (each[:-1].casefold() in fields if each[-1] == ":" else each != OR or not shouted)
    )


def is_sign(ignored: str) -> bool:
    """Return whether what was ignored of a query is a sign, and not a stop word."""
    return ignored == OR or ignored[-1:] in ("+", ":")
