"""Train the first word vectors, word2vec's IN and OUT embeddings in a row (Mitra et al., §4)."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.errors import InputError
from ranklet.runtime.extras import install

# Skip-gram with five negative samples, as in FastText's word2vec (Mikolov et al. 2013).
WINDOW, NEGATIVES, ROUNDS = 5, 5, 5


def word_vectors(
    texts: Sequence[NDArray[np.int64]], size: int, dimension: int, *, seed: int = 0
) -> NDArray[np.float32]:
    """Train word2vec on one thread, because several are not deterministic.

    Args:
        texts: rows of the embeddings of each text's terms, in order.
        size: number of rows.
        dimension: dimension of the vectors, an even number; half is IN and half OUT.
        seed: random seed of the training, and of rows that no text has.

    Returns:
        (size, dimension) float32, both halves with a standard deviation of 1.

    Raises:
        InputError: gensim is not installed, or there is no text.
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise InputError(
            f"word2vec needs the package gensim ({install('word2vec')}); without it use "
            "random vectors (--vectors random)"
        ) from error
    if not any(len(text) for text in texts):
        raise InputError("word2vec needs texts with words; there are none")
    model = Word2Vec(
        _Texts(texts),
        vector_size=dimension // 2,
        window=WINDOW,
        negative=NEGATIVES,
        sg=1,
        min_count=1,
        epochs=ROUNDS,
        workers=1,
        seed=seed,
    )
    vectors = np.random.default_rng(seed).normal(size=(size, dimension)).astype(np.float32)
    rows = [int(word) for word in model.wv.index_to_key]
    for half, learned in enumerate((model.wv.vectors, model.syn1neg)):
        scaled = learned / max(float(learned.std()), 1e-9)
        vectors[rows, half * dimension // 2 : (half + 1) * dimension // 2] = scaled
    return vectors


class _Texts:
    """Texts as strings, which gensim needs, made again in each round."""

    def __init__(self, texts: Sequence[NDArray[np.int64]]) -> None:
        self._texts = texts

    def __iter__(self) -> Iterator[list[str]]:
        return ([str(row) for row in text.tolist()] for text in self._texts)
