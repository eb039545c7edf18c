"""Word-piece tokenizers like BERT's that are trained on a few texts."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")


def train_tokenizer(texts: Iterable[str], size: int) -> "Tokenizer":
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
    alphabet = sorted({character for word in counts for character in word})
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
