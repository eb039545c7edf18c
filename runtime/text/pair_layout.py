"""The special tokens around a pair of texts, as a tokenizer's own post-processing puts them.

BERT reads [CLS] query [SEP] document [SEP], and RoBERTa <s> query </s></s> document </s>.
"""

from typing import TYPE_CHECKING, NamedTuple

from ranklet.runtime.errors import InputError
from ranklet.runtime.text.tokenizing import encode

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class PairLayout(NamedTuple):
    """The token ids around a pair of texts."""

    prefix: list[int]  # before the first text
    middle: list[int]  # between the texts
    suffix: list[int]  # after the second text
    segments: tuple[int, ...]  # token_type_ids of prefix, first text, middle, second text, suffix

    @property
    def around(self) -> int:
        """The number of tokens that are not text."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)


BERT_SEGMENTS = (0, 0, 0, 1, 1)  # 0 up to the first [SEP], then 1


def pair_layout(tokenizer: "Tokenizer") -> PairLayout:
    """Return what a tokenizer puts around the texts of a pair.

    A tokenizer without post-processing gets BERT's layout.

    Raises:
        InputError: it has neither post-processing for pairs nor BERT's special tokens.
        BundleError: it fails.
    """
    encoding = encode(tokenizer, "a", "b", special=True)
    ids, texts, types = encoding.ids, encoding.sequence_ids, encoding.type_ids
    places = [[at for at, text in enumerate(texts) if text == number] for number in (0, 1)]
    if None not in texts or not all(places):
        cls, sep = token_id(tokenizer, "[CLS]"), token_id(tokenizer, "[SEP]")
        return PairLayout([cls], [sep], [sep], BERT_SEGMENTS)
    (begin, *_, end), (second, *_, last) = [(row[0], row[-1] + 1) for row in places]
    parts = ids[:begin], ids[end:second], ids[last:]
    # A part without tokens takes the type of the text before it.
    ends = (begin - 1, begin, second - 1, second, len(ids) - 1)
    return PairLayout(*parts, tuple(types[max(at, 0)] for at in ends))


def token_id(tokenizer: "Tokenizer", token: str) -> int:
    """Return the id of a token; raise InputError if the tokenizer does not have it."""
    index: int | None = tokenizer.token_to_id(token)
    if index is None:
        raise InputError(f"the tokenizer has no token {token!r}; use a tokenizer made for BERT")
    return index
