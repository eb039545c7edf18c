"""Forms that no stemmer leads to their word, because they change within: mice, ging, yeux.

A paragraph of irregular.txt has those of a language. Each word is followed by its irregular forms.
A form that is a common word of its own, such as found, left or sau, is not listed.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ranklet.runtime.storage.package_files import package_text
from ranklet.runtime.text.spellings import unaccented


@cache
def lists() -> Mapping[str, str]:
    """Return the words of each language with their forms, separated by commas."""
    paragraphs = package_text(Path(__file__).with_suffix(".txt")).split("\n\n")
    return dict(each.split(": ", 1) for each in paragraphs)


@cache
def bases(language: str) -> Mapping[str, str]:
    """Return the regular form of each irregular one; both are in lower case without accents."""
    found: dict[str, str] = {}
    for group in lists().get(language, "").split(","):
        word, *forms = unaccented(group).split() or [""]
        for form in forms:
            found.setdefault(form, word)
    return found
