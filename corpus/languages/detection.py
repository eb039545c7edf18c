"""Find out the languages of a collection, for each document.

A text alone says too little: one in ten short ones is taken for another language. So what the
classifier makes of a sample gives the share of each language, and the shares are the prior by which
each text is read again. Most English texts are known by their function words, so that an English
collection waits for no classifier.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.languages.names import ALIASES, LANGUAGES
from ranklet.runtime.ground.sets import evenly
from ranklet.runtime.text.words import stop_words

LEAST_SHARE: Final = 0.02  # of the texts; a rarer language is probably a mistake
_READ = 2_000  # characters of a document that are read
SAMPLE: Final = 1_000  # texts by which the shares of languages are estimated
_ROUNDS = 20
# No other language has as many English function words in almost all of its texts.
_ENGLISH = 0.15
_UNREAD = 3  # texts in English that are taken to exist besides, so that few short ones are English
_CODES = sorted(LANGUAGES)
_EN = _CODES.index("en")


def compute_shares(texts: Sequence[str]) -> dict[str, float]:
    """Return the languages with at least `LEAST_SHARE` of the texts, most frequent first.

    English is the only one if no text has letters.

    >>> compute_shares(["This is the house of the cat.", "It has a roof and a door."])
    {'en': 1.0}

    Returns:
        The share of each language by its code; the shares add up to 1.
    """
    sample = [texts[place][:_READ] for place in evenly(len(texts), SAMPLE)]
    if are_english(sample):
        return {"en": 1.0}
    known = [each for each in map(_likelihoods, sample) if each is not None]
    if not known:
        return {"en": 1.0}
    found = _shares(np.array(known))
    least = min(found.max(), max(LEAST_SHARE, 0.9 / len(known)))  # as much as a single text
    often = {_CODES[at]: float(found[at]) for at in np.argsort(-found) if found[at] >= least}
    total = sum(often.values())
    return {code: share / total for code, share in often.items()}


def _shares(likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each language's share of some texts, (languages,), by expectation maximisation.

    Args:
        likelihoods: of the languages of each text, (texts, languages).
    """
    given = np.vstack([likelihoods, *[np.eye(len(_CODES))[_EN]] * _UNREAD])
    prior = np.full(len(_CODES), 1 / len(_CODES))
    for _ in range(_ROUNDS):
        parts = given * prior
        parts /= parts.sum(1, keepdims=True)
        prior = parts.mean(0)
    return np.asarray(parts[:-_UNREAD].mean(0))


def detect_languages(texts: Sequence[str], shares: Mapping[str, float]) -> Iterator[str]:
    """Yield the language of every text, one of those that have a share."""
    languages = list(shares)
    if len(languages) == 1:
        yield from repeat(languages[0], len(texts))
        return
    places = [_CODES.index(each) for each in languages]
    prior = np.array(list(shares.values()))
    for text in texts:
        likelihoods = _likelihoods(text[:_READ])
        best = 0 if likelihoods is None else int(np.argmax(likelihoods[places] * prior))
        yield languages[best]


def are_english(sample: Sequence[str]) -> bool:
    """Return whether all but a few texts have as many function words as only English ones have."""
    return sum(map(_is_plainly_english, sample)) >= (1 - LEAST_SHARE) * len(sample)


def _is_plainly_english(text: str) -> bool:
    words = text.lower().split()
    return sum(map(stop_words().__contains__, words)) > _ENGLISH * len(words)


def _likelihoods(text: str) -> NDArray[np.float64] | None:
    """Return how likely a text is in each language, (languages,), None if it has no letter."""
    from py3langid import rank

    if not any(map(str.isalpha, text)):
        return None
    found = np.zeros(len(_CODES))
    ranked = rank(text)
    # Letters of one text depend on each other; without the root the best language takes all.
    spread = len(text.encode("utf-8", "replace")) ** 0.5
    best = max(score for _, score in ranked)
    for code, score in ranked:
        if (place := _place(code)) is not None:
            found[place] += np.exp((score - best) / spread)
    return found


@cache
def _place(code: str) -> int | None:
    code = ALIASES.get(code, code)
    return _CODES.index(code) if code in LANGUAGES else None
