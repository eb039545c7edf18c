"""The special tokens of a tokenizer, such as [CLS], [SEP] and padding."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def special_ids(tokenizer: "Tokenizer") -> list[int]:
    """Return the ids of the special tokens, ascending.

    >>> from tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.WordLevel({"a": 0, "[SEP]": 1, "[X]": 2}, unk_token="a"))
    >>> _ = tokenizer.add_special_tokens(["[SEP]"])
    >>> special_ids(tokenizer)
    [1]
    """
    added = tokenizer.get_added_tokens_decoder()
    return sorted(id_ for id_, token in added.items() if token.special)
