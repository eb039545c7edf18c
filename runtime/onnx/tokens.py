"""The tokens that a network reads of a text, and where they stand in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ranklet.runtime.text.tokenizing import encode, encode_batch

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TextToken(NamedTuple):
    """A token of a text.

    Attributes:
        id: the token's id.
        begin: the place of its first character.
        end: the character after its last.
        spelling: the token as the tokenizer spells it.
        special: whether the tokenizer added it, as [CLS]; then it stands nowhere in the text.
    """

    id: int
    begin: int
    end: int
    spelling: str
    special: bool


def text_tokens(
    tokenizer: "Tokenizer", text: str, max_tokens: int, *, special: bool = True
) -> list[TextToken]:
    """Return the tokens that are read of a text, in order.

    Args:
        tokenizer: adds special tokens by post-processing; its truncation is not used.
        text: any text.
        max_tokens: longer texts are truncated by `truncate`.
        special: whether special tokens are added.
    """
    found = encode(tokenizer, text, special=special)
    kept = truncate(range(len(found.ids)), max_tokens, ending(tokenizer) if special else 0)
    return [
        TextToken(
            found.ids[at], *found.offsets[at], found.tokens[at], bool(found.special_tokens_mask[at])
        )
        for at in kept
    ]


def token_ids(
    tokenizer: "Tokenizer", texts: Sequence[str], max_tokens: int
) -> tuple[list[list[int]], list[int]]:
    """Return each text's truncated token ids and the indices of the longer texts."""
    encoded = encode_batch(tokenizer, texts, special=True)
    longer = [index for index, text in enumerate(encoded) if len(text.ids) > max_tokens]
    ends = ending(tokenizer) if longer else 1
    return [truncate(text.ids, max_tokens, ends) for text in encoded], longer


def ending(tokenizer: "Tokenizer") -> int:
    """Return how many special tokens a tokenizer puts at the end of a text, 1 for BERT's [SEP]."""
    special = encode(tokenizer, "a", special=True).special_tokens_mask
    return len(special) - max((i + 1 for i, mask in enumerate(special) if not mask), default=0)


def truncate(ids: Sequence[int], max_tokens: int, ends: int = 1) -> list[int]:
    """Return at most `max_tokens` token ids, always with the last ones, which are special.

    This is the one rule for training and serving.

    >>> truncate([101, 7, 8, 9, 102], 4)
    [101, 7, 8, 102]

    Args:
        ids: token ids with special tokens, such as [CLS] and [SEP].
        max_tokens: the most tokens to keep, ≥ 2.
        ends: number of special tokens at the end.
    """
    if len(ids) <= max_tokens:
        return list(ids)
    return [*ids[: max_tokens - ends], *ids[len(ids) - ends :]]
