"""Read a word-piece tokenizer from disk or train one on the collection."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.runtime.errors import BundleError, InputError
from ranklet.runtime.text.tokenizing import open_tokenizer
from ranklet.training.faults import first_line, one_line

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
MOST_CHARACTERS = 1_000  # each becomes two pieces, one at the beginning of a word and one within
VOCABULARY_SIZE = 8_000  # default of tokenizers trained here; BERT's has 30,522 for all of English


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
        return open_tokenizer(content, str(path))
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


def train_tokenizer(texts: Iterable[str], size: int = VOCABULARY_SIZE) -> "Tokenizer":
    """Train a lower-casing word-piece tokenizer like BERT's; equal texts give equal pieces.

    Args:
        texts: the texts of the collection, read once.
        size: maximum number of pieces in the vocabulary.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    normalizer = normalizers.BertNormalizer(lowercase=True)
    parts = pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(w for w, _ in parts.pre_tokenize_str(normalizer.normalize_str(text)))
    # The trainer numbers characters in the order of a hash table and breaks ties by these numbers,
    # so every run would give other pieces. As special tokens they get their numbers beforehand.
    alphabet = _characters(counts)
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=[*SPECIAL, *alphabet, *(f"##{character}" for character in alphabet)],
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
    frequency: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            frequency[character] += count
    ordered = sorted(frequency, key=lambda character: (-frequency[character], character))
    return sorted(ordered[:MOST_CHARACTERS])
