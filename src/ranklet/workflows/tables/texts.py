"""Texts from which a table learns: random words of the model, and short parts of other texts."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ranklet.runtime.text.sentences import sentences, word_pattern
from ranklet.runtime.text.tokenizing import Tokenizer

MOST_WORDS = 8  # of a random sequence
PIECES = 0.15  # of its words get a piece of a word appended
# A tokenizer's tokens stand in the order of their frequency, about. A word's place is n · u^ORDER
# for a u that is evenly distributed, so the more frequent words come more often.
ORDER = 2.0
PHRASE = 3, 12  # least and most words of a phrase
LONGEST = 24  # words of a sentence
SENTENCES = 6  # that are used of a text
PHRASES = 0.5  # of its sentences become a phrase
MOST = 400_000  # texts of a collection
BEGINS, WITHIN = ("▁", "Ġ"), "##"  # what a token that begins a word begins with, or one within


class Words(NamedTuple):
    """The spellings of a tokenizer's tokens, in the order of their ids."""

    begins: list[str]  # of tokens that begin a word
    pieces: list[str]  # of those within a word


def list_words(tokenizer: Tokenizer) -> Words:
    """Return the tokens that have a letter or a digit and are not special."""
    special = tokenizer.get_added_tokens_decoder()
    spelled = sorted((id_, token) for token, id_ in tokenizer.get_vocab().items())
    tokens = [token for id_, token in spelled if id_ not in special and not token.startswith("[")]
    tokens = [token for token in tokens if any(map(str.isalnum, token))]
    marked = any(token.startswith(BEGINS) for token in tokens)
    begins = [each for each in tokens if each.startswith(BEGINS) or not (marked or _within(each))]
    pieces = [each for each in tokens if not each.startswith(BEGINS) and (marked or _within(each))]
    return Words([each.lstrip("".join(BEGINS)) for each in begins], [*map(bare, pieces)])


def bare(token: str) -> str:
    """Return a token without what marks its place in a word.

    >>> bare("##ing"), bare("▁word"), bare("word")
    ('ing', 'word', 'word')
    """
    return token.removeprefix(WITHIN).lstrip("".join(BEGINS))


def random_texts(words: Words) -> Iterator[str]:
    """Yield sequences of 1 to `MOST_WORDS` words without end, always the same."""
    draw = np.random.default_rng(0)

    def one(of: list[str]) -> str:
        return of[int(len(of) * draw.random() ** ORDER)]

    while True:
        count = int(draw.integers(1, MOST_WORDS + 1))
        yield " ".join(
            one(words.begins)
            + (one(words.pieces) if words.pieces and draw.random() < PIECES else "")
            for _ in range(count)
        )


def short_texts(titled: Iterable[tuple[str, str]], most: int = MOST) -> list[str]:
    """Return titles, sentences and phrases, at most so many, in a random order that is always same.

    Args:
        titled: the title, or "", and the text of each document.
        most: how many; of more, each has the same chance.
    """
    draw = np.random.default_rng(1)
    kept: list[str] = []
    for count, text in enumerate(_distinct(titled, draw)):
        if len(kept) < most:
            kept.append(text)
        elif (place := int(draw.integers(count + 1))) < most:
            kept[place] = text
    return [kept[at] for at in draw.permutation(len(kept)).tolist()]


def phrase(text: str, draw: np.random.Generator) -> str:
    """Return some successive words of a text; the text if it has few."""
    places = [match.span() for match in word_pattern(text).finditer(text)]
    least, longest = PHRASE
    if len(places) <= least:
        return text
    count = int(draw.integers(least, min(longest, len(places)) + 1))
    first = int(draw.integers(len(places) - count + 1))
    return text[places[first][0] : places[first + count - 1][1]]


def _distinct(titled: Iterable[tuple[str, str]], draw: np.random.Generator) -> Iterator[str]:
    """Yield each short text once, as far as a set of hashes tells."""
    seen: set[int] = set()
    for text in _short(titled, draw):
        own = " ".join(text.split())
        if own and hash(own) not in seen:
            seen.add(hash(own))
            yield own


def _short(titled: Iterable[tuple[str, str]], draw: np.random.Generator) -> Iterator[str]:
    for title, text in titled:
        yield title
        head = text[: 1 << 14]
        for _, (begin, end, words) in zip(range(SENTENCES), sentences(head), strict=False):
            sentence = head[begin:end]
            if words >= PHRASE[0] and draw.random() < PHRASES:
                yield phrase(sentence, draw)
            elif words <= LONGEST:
                yield sentence


def _within(token: str) -> bool:
    return token.startswith(WITHIN)
