"""Open tokenizers and call them; no other module of the runtime does.

The package tokenizers raises bare exceptions. A damaged tokenizer can also make its Rust code
panic, either when it is read or at some text. A panic arrives as a BaseException that is no
Exception, so that nothing that guards a server or a command would catch it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

from ranklet.runtime.ground.errors import BundleError, MissingPackageError
from ranklet.runtime.ground.extras import install

# What is called of tokenizers: those of the package have it, and `WordPieces` have it, too.


class Encoding(Protocol):
    """The tokens of a text."""

    @property
    def ids(self) -> list[int]: ...  # noqa: D102
    @property
    def offsets(self) -> list[tuple[int, int]]: ...  # noqa: D102
    @property
    def tokens(self) -> list[str]: ...  # noqa: D102
    @property
    def special_tokens_mask(self) -> list[int]: ...  # noqa: D102
    @property
    def type_ids(self) -> list[int]: ...  # noqa: D102
    @property
    def sequence_ids(self) -> Sequence[int | None]: ...  # noqa: D102


class AddedToken(Protocol):
    """A token that is found in a text as it is."""

    @property
    def special(self) -> bool: ...  # noqa: D102


class Tokenizer(Protocol):
    """What splits texts into word pieces."""

    def encode(  # noqa: D102
        self, text: Any, pair: Any = None, /, *, add_special_tokens: bool = ...
    ) -> Encoding: ...
    def encode_batch(  # noqa: D102
        self, texts: Any, /, *, add_special_tokens: bool = ...
    ) -> Sequence[Encoding]: ...
    def get_vocab(self) -> Mapping[str, int]: ...  # noqa: D102
    def get_vocab_size(self) -> int: ...  # noqa: D102
    def get_added_tokens_decoder(self) -> Mapping[int, AddedToken]: ...  # noqa: D102
    def num_special_tokens_to_add(self, is_pair: bool, /) -> int: ...  # noqa: D102
    def token_to_id(self, token: str, /) -> int | None: ...  # noqa: D102
    def id_to_token(self, number: int, /) -> str | None: ...  # noqa: D102
    def to_str(self) -> str: ...  # noqa: D102


_SPARE = 64  # tokens after the last one that is read, which a cut text might change
_PER_TOKEN = 16  # characters, more than most tokens have
_PART = 1 << 16  # characters


def encodable(text: str) -> str:
    """Replace every lone surrogate (half a character) by ?, because tokenizers refuse it.

    >>> encodable(f"a {chr(0xD83D)} b")
    'a ? b'
    """
    return text.encode("utf-8", "replace").decode()


def open_tokenizer(content: bytes, name: str, *, plain: bool = False) -> Tokenizer:
    """Read a tokenizer.json, without its truncation and padding.

    Both concern a model's input, not a text's tokens. Padding to a gigabyte would also be a
    possible attack.

    Args:
        content: the content of the file.
        name: the name of the file, for messages.
        plain: whether texts are split without special tokens. Then BERT's word pieces need no
            package, whose import takes longer than a first query.

    Returns:
        A tokenizer of the package tokenizers. Without the package, BERT's word pieces are split by
        `WordPieces`.

    Raises:
        BundleError: it cannot be read.
        MissingPackageError: only the package can read it, and is not installed.
    """
    if plain:
        with suppress(MissingPackageError):
            return _without_package(content, name)
    try:
        import tokenizers
    except ModuleNotFoundError:
        return _without_package(content, name)
    with _guarded(f"{name} cannot be read"):
        tokenizer = tokenizers.Tokenizer.from_buffer(content)
        tokenizer.no_truncation()
        tokenizer.no_padding()
    return tokenizer


def _without_package(content: bytes, name: str) -> Tokenizer:
    from ranklet.runtime.text.word_pieces import Unsupported, WordPieces

    with _guarded(f"{name} cannot be read"):
        try:
            return WordPieces(json.loads(content))
        except Unsupported as other:
            raise MissingPackageError(
                f"{name} is no tokenizer of BERT ({other}), so it needs the package 'tokenizers', "
                f"which is not installed; run: {install('onnx')}",
                name="tokenizers",
            ) from None


def encode(
    tokenizer: Tokenizer, text: str, pair: str | None = None, *, special: bool = False
) -> Encoding:
    """Return the tokens of a text, or of a pair of texts.

    Args:
        tokenizer: any tokenizer.
        text: any text, even with lone surrogates.
        pair: the second text of a pair.
        special: whether the tokenizer adds tokens such as [CLS].

    Raises:
        BundleError: the tokenizer fails.
    """
    other = None if pair is None else encodable(pair)
    with _guarded("the tokenizer fails on a text"):
        return tokenizer.encode(encodable(text), other, add_special_tokens=special)


def encode_batch(
    tokenizer: Tokenizer, texts: Sequence[str], *, special: bool = False
) -> Sequence[Encoding]:
    """Return the tokens of some texts, on all processors; see `encode`."""
    if len(texts) == 1:  # a query alone need not start the tokenizer's threads
        return [encode(tokenizer, texts[0], special=special)]
    with _guarded("the tokenizer fails on a text"):
        return tokenizer.encode_batch([*map(encodable, texts)], add_special_tokens=special)


# What says nothing about a tokenizer; nor does an error of another module, such as of an alarm.
_NO_FAULT = (
    MissingPackageError, MemoryError, TimeoutError, KeyboardInterrupt, SystemExit, GeneratorExit,
)  # fmt: skip
_ITS_OWN = ("builtins", "pyo3_runtime", "json.decoder")


@contextmanager
def _guarded(failed: str) -> Iterator[None]:
    try:
        yield
    except _NO_FAULT:
        raise
    except BaseException as error:
        if type(error).__module__ not in _ITS_OWN:
            raise
        raise BundleError(f"{failed}: {error}. It is damaged; use another one") from error


def special_ids(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of the special tokens, ascending.

    >>> from tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.WordLevel({"a": 0, "[SEP]": 1, "[X]": 2}, unk_token="a"))
    >>> _ = tokenizer.add_special_tokens(["[SEP]"])
    >>> special_ids(tokenizer)
    [1]
    """
    added = tokenizer.get_added_tokens_decoder()
    return sorted(id_ for id_, token in added.items() if token.special)


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
    tokenizer: Tokenizer, text: str, max_tokens: int, *, special: bool = True
) -> list[TextToken]:
    """Return the tokens that are read of a text, in order.

    Args:
        tokenizer: adds special tokens by post-processing; its truncation is not used.
        text: any text.
        max_tokens: longer texts are truncated by `truncate`.
        special: whether special tokens are added.
    """
    found = encode(tokenizer, text, special=special)
    # Each attribute is a list that is made anew when it is read.
    ids, offsets, spellings, mask = (
        found.ids, found.offsets, found.tokens, found.special_tokens_mask,
    )  # fmt: skip
    kept = truncate(range(len(ids)), max_tokens, ending(tokenizer) if special else 0)
    return [TextToken(ids[at], *offsets[at], spellings[at], bool(mask[at])) for at in kept]


def token_ids(
    tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int
) -> tuple[list[list[int]], list[int]]:
    """Return each text's truncated token ids and the indices of the longer texts.

    Of a very long text only the beginning is split into tokens, if it has enough of them.
    """
    enough = max_tokens + _SPARE
    heads = [text[: _cut(text, enough * _PER_TOKEN)] for text in texts]
    # Each attribute of an encoding is a list that is made anew when it is read.
    found = [each.ids for each in encode_batch(tokenizer, heads, special=True)]
    for at, (head, text) in enumerate(zip(heads, texts, strict=True)):
        if len(head) < len(text) and len(found[at]) < enough:
            found[at] = encode(tokenizer, text, special=True).ids
    longer = [index for index, ids in enumerate(found) if len(ids) > max_tokens]
    ends = ending(tokenizer) if longer else 1
    return [truncate(ids, max_tokens, ends) for ids in found], longer


def list_parts(text: str) -> Iterator[str]:
    """Yield parts of a text that are split into tokens in some 50 ms each, cut before spaces.

    >>> [len(part) for part in list_parts("dough " * 20_000)]
    [65531, 54469]
    """
    begin = 0
    while begin < len(text):
        end = begin + _cut(text[begin : begin + 2 * _PART], _PART)
        yield text[begin:end]
        begin = end


def _cut(text: str, most: int) -> int:
    """Return where a text may be cut: at its end if it is hardly longer, or before a space."""
    if len(text) <= most:
        return len(text)
    space = text.rfind(" ", most - most // 8, most)
    return space if space > 0 else most


def ending(tokenizer: Tokenizer) -> int:
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
