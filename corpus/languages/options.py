"""Options that say how the words of a collection are analysed."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from ranklet.corpus.languages.dictionary import is_installed
from ranklet.corpus.languages.names import AUTO, LEMMA, NONE, NORMALISERS, STEM, language_code
from ranklet.runtime.errors import InputError
from ranklet.runtime.options import Checked, one_of, text
from ranklet.runtime.text.stems import has_stemmer


@dataclass(frozen=True, kw_only=True)
class TextOptions(Checked):
    """The language of the texts, and what counts as forms of one word."""

    GROUP = "words"

    language: str = text(
        "en", "language of the texts, such as de or German; auto finds out that of each document"
    )
    normaliser: str = one_of(
        AUTO,
        (AUTO, *NORMALISERS),
        "what forms of a word share: lemma, stem (Snowball's), lemma+stem (the lemma's stem), "
        "none, or auto: lemma, and stem without the extra lexical",
    )

    def __post_init__(self) -> None:
        """Check every value, and write the language as its code."""
        object.__setattr__(self, "language", language_code(self.language))
        super().__post_init__()

    @property
    def method(self) -> str:
        """What the forms of a word have in common: the normaliser, or what auto stands for here."""
        if self.normaliser != AUTO:
            return self.normaliser
        if is_installed():
            return LEMMA
        return STEM if self.language == AUTO or has_stemmer(self.language) else NONE

    @classmethod
    def of(cls, languages: Collection[str], normaliser: str) -> Self:
        """Return the options that reproduce an earlier analysis.

        Args:
            languages: codes of the languages of a collection; if there are several, that of each
                text is found out again.
            normaliser: what the forms of a word have in common.
        """
        return cls(language=AUTO if len(languages) > 1 else min(languages), normaliser=normaliser)

    def need_words(self, *fields: str) -> None:
        """Raise InputError if an option was given and no field is made of words."""
        if self != type(self)() and set(fields) == {"wordpieces"}:
            raise InputError(
                "--language and --normaliser say how words are read, and nothing but word pieces "
                "is; leave them out, or choose --field words or lemmas"
            )


WORDS = TextOptions()
