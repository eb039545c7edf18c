"""Explain the product of two vectors by the words of the document.

A mean of token states is a sum over tokens, and so is its product with the query's vector. Every
state has read the whole text, so that each token adds something, even a full stop. The parts are
these amounts as they are, by word. The marks show only the words that stand out.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ranklet.runtime.answers.explanation import Explanation, ReadSpans
from ranklet.runtime.text.tokenizing import TextToken
from ranklet.runtime.text.words import stop_words, word_places

SHOWN = 10  # number of words that are parts of their own; the others are added up


class Occurrence(NamedTuple):
    """A word at one place of the text.

    Attributes:
        text: the word's characters in lower case.
        amount: what its tokens add to the score.
        pieces: the numbers of its tokens among those of the text.
    """

    text: str
    amount: float
    pieces: tuple[int, ...]


def explain_words(
    label: str, field: str, text: str, tokens: Sequence[TextToken], amounts: Sequence[float]
) -> Explanation:
    """Return amounts of tokens by words; the parts add up to the sum of all amounts.

    Punctuation and stop words take up what the whole text says, and share a part. `pieces` are the
    marks of `choose_marks`.

    Args:
        label: label of the whole.
        field: the field of the tokens, as in `Explanation.source`.
        text: the text that they were read of.
        tokens: the tokens that were read. Those before the text, of a prompt, have negative places.
        amounts: what each token adds to the score.
    """
    own = [at for at, token in enumerate(tokens) if not token.special and token.end > 0]
    places = word_places(text, [(max(0, tokens[at].begin), tokens[at].end) for at in own])
    by_place: dict[tuple[int, int], list[int]] = defaultdict(list)
    for piece, place in enumerate(places):
        if place is not None:
            by_place[place].append(piece)
    words = [
        Occurrence(
            text[begin:end].lower(), sum(amounts[own[piece]] for piece in pieces), tuple(pieces)
        )
        for (begin, end), pieces in by_place.items()
    ]
    content = [word for word in words if word.text not in stop_words()] or words
    parts = _by_word(content)
    told = {piece for word in content for piece in word.pieces}
    rest = [amounts[own[piece]] for piece in range(len(own)) if piece not in told]
    if rest:
        parts.append(Explanation("stop words and punctuation", sum(rest)))
    parts += _outside(tokens, amounts)
    value = sum(part.value for part in parts)
    read = ReadSpans(field, ((0, len(own)),))
    return Explanation(label, value, tuple(parts), read=read, pieces=choose_marks(content))


def choose_marks(words: Sequence[Occurrence]) -> tuple[tuple[int, float], ...]:
    """Return the tokens to mark and how strongly: the excess of a word over the mean word.

    All words of a text add similar amounts, because each state has read the whole text. So amounts
    as they are would mark everything. The tokens of a word share its excess. If no word exceeds the
    mean, as in a text of one word, all words that add something are marked.

    >>> words = [Occurrence("a", 0.1, (0,)), Occurrence("b", 0.5, (1, 2))]
    >>> [(piece, round(amount, 3)) for piece, amount in choose_marks(words)]
    [(1, 0.1), (2, 0.1)]
    >>> choose_marks([Occurrence("a", 0.25, (0,))])
    ((0, 0.25),)
    """
    mean = sum(word.amount for word in words) / max(1, len(words))
    if not any(word.amount > mean for word in words):
        mean = 0.0
    return tuple(
        (piece, (word.amount - mean) / len(word.pieces))
        for word in words
        if word.amount > mean
        for piece in word.pieces
    )


def _by_word(words: Sequence[Occurrence]) -> list[Explanation]:
    """Return a part per word for the words that add most, and one for all others."""
    amounts: dict[str, list[float]] = defaultdict(list)
    for word in words:
        amounts[word.text].append(word.amount)
    parts = [
        Explanation(text if len(each) == 1 else f"{text} (×{len(each)})", sum(each))
        for text, each in amounts.items()
    ]
    parts.sort(key=lambda part: -abs(part.value))
    others = parts[SHOWN:]
    if others:
        value = sum(part.value for part in others)
        noun = "word" if len(others) == 1 else "words"
        parts[SHOWN:] = [Explanation(f"{len(others)} more {noun}", value)]
    return parts


def _outside(tokens: Sequence[TextToken], amounts: Sequence[float]) -> list[Explanation]:
    """Return a part for special tokens and one for a prompt, if there are any."""
    special = [at for at, token in enumerate(tokens) if token.special]
    prompt = [at for at, token in enumerate(tokens) if not token.special and token.end <= 0]
    parts = []
    if special:
        names = " and ".join(dict.fromkeys(tokens[at].spelling for at in special))
        parts.append(Explanation(names, sum(amounts[at] for at in special)))
    if prompt:
        parts.append(Explanation("the prompt", sum(amounts[at] for at in prompt)))
    return parts
