"""Word-piece tokenizers: one from disk, or one trained on the collection."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.runtime.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
MOST_CHARACTERS = 1_000  # each is a piece, twice: at the beginning of a word and within
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


def train_tokenizer(texts: Iterable[str], size: int = VOCABULARY_SIZE) -> "Tokenizer":
    """Train a lower-casing word-piece tokenizer in BERT's manner; equal texts give equal pieces.

    Args:
        texts: the texts of the collection, read once.
        size: most pieces in the vocabulary.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    normalizer = normalizers.BertNormalizer(lowercase=True)
    parts = pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(w for w, _ in parts.pre_tokenize_str(normalizer.normalize_str(text)))
    # The trainer numbers characters in the order of a hash table, and breaks ties by these numbers:
    # every run would end in other pieces. Named as special tokens, they are numbered beforehand.
    alphabet = _characters(counts)
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=[*SPECIAL, *alphabet, *(f"##{each}" for each in alphabet)],
        limit_alphabet=0,
        show_progress=False,
    )
    learner = Tokenizer(models.WordPiece(unk_token=UNKNOWN, max_input_chars_per_word=100))
    learner.normalizer, learner.pre_tokenizer = normalizer, parts
    learner.train_from_iterator((" ".join([word] * counts[word]) for word in counts), trainer)

    tokenizer = Tokenizer(
        models.WordPiece(learner.get_vocab(), unk_token=UNKNOWN, max_input_chars_per_word=100)
    )
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, parts
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def _characters(counts: Counter[str]) -> list[str]:
    """Return the most frequent characters of words, sorted."""
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            found[character] += count
    ordered = sorted(found, key=lambda each: (-found[each], each))
    return sorted(ordered[:MOST_CHARACTERS])
