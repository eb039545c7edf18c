"""Options that say how the words of a collection are analysed."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ranklet.corpus.languages.names import AUTO, language_code
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Checked, one_of, place, text
from ranklet.runtime.text.names import FORMS, NONE, STEM


@dataclass(frozen=True, kw_only=True)
class TextOptions(Checked):
    """The language of the texts, and what counts as forms of one word."""

    GROUP = "words"

    language: str = text(
        "en", "language of the texts, such as de or German; auto finds out that of each document"
    )
    normaliser: str = one_of(
        STEM,
        (STEM, NONE),
        "what forms of a word share: stem (Snowball's, and the first letters in most languages "
        "but English), or none, so that only the same word is found",
    )
    forms: Path | None = place(
        "file of forms and their lemmas, a tab between them, which take the place of stems"
    )

    def __post_init__(self) -> None:
        """Check every value, and write the language as its code."""
        object.__setattr__(self, "language", language_code(self.language))
        super().__post_init__()
        if self.forms and self.normaliser != STEM:
            raise InputError("--forms takes the place of stems; leave --normaliser out")

    @property
    def method(self) -> str:
        """What the forms of a word have in common, as a bundle says it."""
        return FORMS if self.forms else self.normaliser

    @classmethod
    def of(cls, languages: Collection[str], method: str) -> Self:
        """Return the options that reproduce an earlier analysis.

        Args:
            languages: codes of the languages of a collection; if there are several, that of each
                text is found out again.
            method: what the forms of a word have in common.

        Raises:
            InputError: it was a file of forms, which nothing has kept.
        """
        if method == FORMS:
            raise InputError(
                "the words were compared by a file of forms (--forms), which no bundle keeps; pass "
                "--language and --forms again to `ranklet index`, or build anew"
            )
        return cls(language=AUTO if len(languages) > 1 else min(languages), normaliser=method)

    def need_words(self, *fields: str) -> None:
        """Raise InputError if an option was given and no field is made of words."""
        if self != type(self)() and set(fields) == {"wordpieces"}:
            raise InputError(
                "--language, --normaliser and --forms say how words are read, and nothing but word "
                "pieces is; leave them out, or choose --field words or lemmas"
            )


WORDS = TextOptions()
