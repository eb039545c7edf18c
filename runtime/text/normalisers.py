"""Names of what the forms of a word may have in common; see `WordClasses`."""

from typing import Final

NORMALISERS = STEM, NONE, FORMS = "stem", "none", "forms"
UNSPACED: Final = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my"})  # no spaces between words
