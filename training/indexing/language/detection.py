"""Find out the languages of a collection, for each document."""

from collections import Counter

from ranklet.training.indexing.language.names import ALIASES, LANGUAGES

LEAST_SHARE = 0.02  # of the text; a rarer language is probably a mistake in a short document
_READ = 2_000  # characters of a document that are read


class Detected:
    """The languages of the documents of a collection, in their order."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._letters: Counter[str] = Counter()  # characters that were read, by language

    def add(self, text: str) -> None:
        """Find out the language of the next document."""
        language = detect(text)
        self._found.append(language)
        if language:
            self._letters[language] += len(text[:_READ])

    def languages(self) -> tuple[str, ...]:
        """Return the languages with at least `LEAST_SHARE` of the text, most frequent first.

        English is the only one if no document has letters.
        """
        counts = self._letters
        least = LEAST_SHARE * counts.total()
        often = [language for language, count in counts.most_common() if count >= least]
        return tuple(often) or ("en",)

    def each(self) -> list[str]:
        """Return the language of every document; rare languages count as the most frequent one."""
        languages = self.languages()
        return [each if each in languages else languages[0] for each in self._found]


def detect(text: str) -> str:
    """Return the code of a text's language, or "" if the text has no letter."""
    from py3langid import classify

    part = text[:_READ]
    if not any(letter.isalpha() for letter in part):
        return ""
    code = classify(part)[0]
    code = ALIASES.get(code, code)
    return code if code in LANGUAGES else ""
