"""Names of languages and fields of a bundle, and of what the forms of a word have in common."""

from typing import Final

ENGLISH = ("en",)  # the languages of a collection that does not name any
UNSPACED: Final = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my"})  # no spaces between words
FIELDS = ("lemmas", "words", "wordpieces")
CLASSES = "classes"  # the lemma and the beginning of each word, which BM25 over lemmas counts
NORMALISERS = STEM, NONE, FORMS = "stem", "none", "forms"  # see `WordClasses`
MARK: Final = "…"  # after a beginning; in texts it becomes three full stops, which are no word
# Languages that write several nouns as one word, whose last part says what it is.
COMPOUNDING: Final = frozenset(
    ("af", "da", "de", "et", "fi", "fo", "hu", "is", "lb", "nb", "nl", "nn", "sv")
)
