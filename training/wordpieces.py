"""Word-piece tokenizers: one from disk, or one trained on the collection."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY_SIZE = 8_000  # of a tokenizer trained here; BERT's has 30,522 for all of English


def read_tokenizer(path: str | Path) -> "Tokenizer":
    """Read a tokenizer.json, or BERT's vocab.txt (lower-casing), or a folder that holds one.

    Truncation and padding are turned off: they belong to a model's input, not to a text's tokens.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    path = Path(path)
    if path.is_dir():
        inside = [path / name for name in ("tokenizer.json", "vocab.txt")]
        path = next((each for each in inside if each.is_file()), path)
    if not path.is_file():
        raise InputError(f"no tokenizer.json or vocab.txt at {str(path)!r}")
    try:
        if path.suffix == ".txt":
            tokenizer = Tokenizer.from_str(
                BertWordPieceTokenizer(str(path), lowercase=True).to_str()
            )
        else:
            tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise InputError(f"{str(path)!r} cannot be read as a tokenizer: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def padding_token(tokenizer: "Tokenizer") -> int:
    """Return the id of [PAD], which fills up the rows of a batch.

    Raises:
        InputError: there is none.
    """
    padding: int | None = tokenizer.token_to_id("[PAD]")
    if padding is None:
        raise InputError("the tokenizer has no [PAD] token; take one made for BERT")
    return padding


def special_tokens(tokenizer: "Tokenizer") -> tuple[int, ...]:
    """Return the ids of [PAD], [UNK], [CLS] and the like, ascending: they are no text."""
    added = tokenizer.get_added_tokens_decoder()
    return tuple(sorted(at for at, token in added.items() if token.special))


def train_tokenizer(texts: Iterator[str], size: int = VOCABULARY_SIZE) -> "Tokenizer":
    """Train a lower-casing word-piece tokenizer in BERT's manner.

    Args:
        texts: the texts of the collection.
        size: most pieces in the vocabulary.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    unknown = "[UNK]"
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", unknown, "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
