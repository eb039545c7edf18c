"""Options that say how the words of a collection are analysed."""

from dataclasses import dataclass

from ranklet.runtime.options import check_options, one_of, text
from ranklet.training.indexing.language.names import language_code

NORMALISERS = ("lemma", "lemma+stem", "stem", "none")


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The language of the texts, and what counts as forms of one word."""

    GROUP = "words"

    language: str = text(
        "en", "language of the texts, such as de or German; auto finds out that of each document"
    )
    normaliser: str = one_of(
        "lemma",
        NORMALISERS,
        "what the forms of a word have in common: lemma, stem (by Snowball), lemma+stem (the stem "
        "of the lemma, where Snowball has the language) or none",
    )

    def __post_init__(self) -> None:
        """Check every value, and write the language as its code."""
        object.__setattr__(self, "language", language_code(self.language))
        check_options(self)
