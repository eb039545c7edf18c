"""What light vectors learn from: texts with the oracle's vectors.

The table of sub-embeddings begins with centroids of the oracle's vectors of each token. Boualili,
chapter 8, begins at random, and only SRM-Top1 with centroids of k-means. From centroids a few
hundred steps are enough.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.runtime.call.protocol import Role
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.runtime.text.tokenizing import encode, special_ids
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.encoders.encoder_texts import EncoderTexts
from ranklet.training.encoders.text_pairs import Tokens
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers.colbert import training as colbert
from ranklet.training.rankers.colbert.network import ColBERTNetwork
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import TokenVectors, oracle_vectors
from ranklet.training.sampling.negatives import Numbers

if TYPE_CHECKING:
    from tokenizers import Tokenizer


ALONE = 512  # tokens of the vocabulary that the oracle reads at a time
CLUSTERED = 2_000_000  # occurrences of tokens whose vectors centroids are made of, at most

ROUNDS = 8  # of k-means
MOST = 256  # vectors of a token that count; more do not move its centroids by much


@dataclass(frozen=True, kw_only=True)
class Material:
    """What light vectors learn from.

    Attributes:
        oracle: the checkpoint that is imitated.
        network: the oracle's network.
        texts: the batches, and the pool.
        layout: makes the rows of texts.
        queries: the oracle's vectors of the queries to learn from.
        documents: the oracle's vectors of the documents in `numbers`.
        numbers: the numbers of the collection's documents that have vectors, ascending.
        pool_queries: the oracle's vectors of the queries of the pool.
    """

    oracle: Checkpoint
    network: ColBERTNetwork
    texts: EncoderTexts
    layout: TokenLayout
    queries: TokenVectors
    documents: TokenVectors
    numbers: Numbers
    pool_queries: TokenVectors

    @classmethod
    def read(
        cls, collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
    ) -> "Material":
        """Read texts, and run the oracle on those that are needed; see `train`."""
        if options.oracle is None:
            raise InputError(
                "light vectors imitate a ColBERT; train one (`ranklet train colbert`) and give its "
                "checkpoint as --oracle"
            )
        oracle = read_checkpoint(options.oracle)
        settings = oracle_settings(oracle)
        network = colbert.load(oracle)
        layout = TokenLayout(settings, oracle.need_tokenizer())
        backbone = load_backbone(options.oracle, segments=False)
        limits = options.max_query_tokens, options.max_document_tokens
        texts = EncoderTexts(collection, queries, dev, options, backbone, limits=limits)
        numbers = _find_needed(texts, options)
        folder = options.folder

        def vectors(role: Role, tokens: Tokens, label: str) -> TokenVectors:
            return oracle_vectors(network, layout, role, tokens, folder, label)

        return cls(
            oracle=oracle,
            network=network,
            texts=texts,
            layout=layout,
            queries=vectors("query", texts.pairs.queries, "the oracle's vectors of queries"),
            documents=vectors(
                "document", texts.pairs.documents.rows(numbers), "the oracle's vectors of documents"
            ),
            numbers=numbers,
            pool_queries=vectors("query", texts.pool.queries, "the oracle's vectors of the pool"),
        )

    def documents_at(self, numbers: NDArray[np.integer]) -> list[int]:
        """Return where the vectors of some of the collection's documents stand."""
        places: list[int] = np.searchsorted(self.numbers, numbers).tolist()
        return places

    @cached_property
    def alone(self) -> NDArray[np.float32]:
        """The oracle's vector of each token without context, (vocabulary, dimension) float32."""
        tokenizer = self.oracle.need_tokenizer()
        size = max(tokenizer.get_vocab_size(), int(self.oracle.network.get("vocab_size", 0)))
        around, middle = _template(tokenizer, self.layout)
        made = []
        with torch.inference_mode():
            for begin in range(0, size, ALONE):
                ids = np.repeat(np.array([around], np.int64), min(ALONE, size - begin), 0)
                ids[:, middle] = np.arange(begin, begin + len(ids))
                inputs = torch.from_numpy(ids), torch.ones(ids.shape, dtype=torch.int64)
                made.append(self.network(*inputs)[:, middle].numpy())
        return np.concatenate(made)

    def centroids(self, clusters: int, seed: int) -> NDArray[np.float32]:
        """Return what the table begins with, (vocabulary, clusters, dimension) float32."""
        found = [_sample_tokens(source, seed) for source in self.sources]
        ids, vectors = (np.concatenate(each) for each in zip(*found, strict=True))
        return centroids(ids, vectors, self.alone, clusters, seed)

    @property
    def sources(self) -> list[TokenVectors]:
        """The texts to distil on."""
        return [self.documents, self.queries]


def oracle_settings(oracle: Checkpoint) -> ColBERTSettings:
    """Return the settings of an oracle.

    Raises:
        InputError: it is no ColBERT, or it expands queries.
    """
    settings = oracle.settings
    if oracle.kind != "colbert" or not isinstance(settings, ColBERTSettings):
        raise InputError(f"the oracle is a {oracle.kind}; give the checkpoint of a colbert")
    if settings.expansion != "none":
        raise InputError(
            "the oracle fills queries up with [MASK], whose vectors have no static ones; give an "
            "oracle that was trained with --expansion none"
        )
    return settings


def _find_needed(texts: EncoderTexts, options: Options) -> Numbers:
    """Return the numbers of the documents whose vectors are needed, ascending."""
    count = len(texts.pairs.ids)
    if not options.distil_texts or options.distil_texts >= count:
        return np.arange(count)
    rng = np.random.default_rng((options.seed, 1))
    chosen = [rng.permutation(count)[: options.distil_texts], texts.pool.numbers]
    if options.fine_tune:
        chosen += [batch.documents for batch in texts.drawn(options)]
    return np.unique(np.concatenate(chosen))


def _template(tokenizer: "Tokenizer", layout: TokenLayout) -> tuple[list[int], int]:
    """Return the row of a document of one token, and the place of this token."""
    row = layout.row(encode(tokenizer, "a", special=True).ids, "document")
    special = set(special_ids(tokenizer))
    return row.ids, next(at for at, id_ in enumerate(row.ids) if id_ not in special)


def _sample_tokens(
    source: TokenVectors, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """Return the tokens of texts that are drawn until there are enough, and their vectors."""
    order = np.random.default_rng((seed, 2)).permutation(len(source))
    lengths = np.cumsum(source.lengths[order])
    return source.tokens(order[: 1 + int((lengths < CLUSTERED).sum())].tolist())


def centroids(
    ids: NDArray[np.int64],
    vectors: NDArray[np.float16],
    alone: NDArray[np.float32],
    clusters: int,
    seed: int,
) -> NDArray[np.float32]:
    """Return the centroids of each token's vectors, (vocabulary, clusters, dimension) float32.

    A token with fewer vectors than clusters has each of them, and their mean in the other places. A
    token without any has what the oracle makes of it alone.

    Args:
        ids: tokens that occur, (occurrences,) int64.
        vectors: the vectors of these tokens, (occurrences, dimension) float16.
        alone: the oracle's vector of each token without context, (vocabulary, dimension) float32.
        clusters: number of centroids.
        seed: the seed of the draws.
    """
    rng = np.random.default_rng(seed)
    table = np.repeat(alone[:, None, :], clusters, axis=1)
    order = rng.permutation(len(ids))
    order = order[np.argsort(ids[order], kind="stable")]
    found, begins = np.unique(ids[order], return_index=True)
    for token, own in zip(found.tolist(), np.split(order, begins[1:]), strict=True):
        table[token] = k_means(vectors[own[:MOST]].astype(np.float32), clusters)
    return table


def k_means(vectors: NDArray[np.float32], clusters: int) -> NDArray[np.float32]:
    """Return the centroids of some vectors in random order, (clusters, dimension) float32.

    >>> k_means(np.array([[0.0], [9.0], [1.0], [8.0]], np.float32), 2).ravel().tolist()
    [0.5, 8.5]
    """
    if len(vectors) <= clusters:
        rest = np.repeat(vectors.mean(0, keepdims=True), clusters - len(vectors), axis=0)
        return np.concatenate([vectors, rest])
    centres = vectors[:clusters].copy()
    for _ in range(ROUNDS if clusters > 1 else 1):
        # |v − c|² = |v|² − 2 v·c + |c|², and |v|² is the same for every centre.
        nearest = ((centres**2).sum(1) - 2 * vectors @ centres.T).argmin(1)
        counts = np.bincount(nearest, minlength=clusters)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, vectors)
        filled = counts > 0  # an empty cluster keeps its centre
        centres[filled] = sums[filled] / counts[filled, None]
    return centres
