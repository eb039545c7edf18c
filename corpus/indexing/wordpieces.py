"""Read a word-piece tokenizer from disk, and find its special tokens."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from ranklet.corpus.faults import first_line, one_line
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.text.tokenizing import open_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def read_tokenizer(path: str | Path) -> "Tokenizer":
    """Read a tokenizer.json, BERT's vocab.txt (lower-casing), or a folder that holds one of them.

    Truncation and padding are turned off, because they concern a model's input, not a text's
    tokens.

    Raises:
        InputError: no tokenizer is there, or it cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        candidates = [path / name for name in ("tokenizer.json", "vocab.txt")]
        path = next((candidate for candidate in candidates if candidate.is_file()), path)
    if not path.is_file():
        raise InputError(f"no tokenizer.json or vocab.txt at {str(path)!r}")
    failed = f"{str(path)!r} cannot be read as a tokenizer"
    with one_line(failed):
        if path.suffix != ".txt":
            content = path.read_bytes()
        else:
            from tokenizers import BertWordPieceTokenizer

            content = BertWordPieceTokenizer.from_file(str(path), lowercase=True).to_str().encode()
    try:
        return cast("Tokenizer", open_tokenizer(content, str(path)))  # trainings have the package
    except BundleError as error:
        raise InputError(f"{failed}: {first_line(error.__cause__ or error)}") from error


def padding_token(tokenizer: "Tokenizer") -> int:
    """Return the id of [PAD], or of RoBERTa's <pad>, which fills up the rows of a batch.

    Raises:
        InputError: the tokenizer has neither.
    """
    for name in ("[PAD]", "<pad>"):
        padding: int | None = tokenizer.token_to_id(name)
        if padding is not None:
            return padding
    raise InputError("the tokenizer has no token [PAD] or <pad>; use an encoder's own tokenizer")


def special_tokens(tokenizer: "Tokenizer") -> tuple[int, ...]:
    """Return the ids of the tokens that are not text, such as [PAD] and [CLS], ascending."""
    added = tokenizer.get_added_tokens_decoder()
    return tuple(sorted(index for index, token in added.items() if token.special))
