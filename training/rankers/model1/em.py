"""Learn IBM Model 1 by expectation maximisation (Brown et al. 1993, §4.1), in plain numpy.

A link joins a target position with a source position of the same sentence pair. Its type is the
pair of their tokens. Positions are first sorted by their target token, so that all links of a
target token are adjacent. Then blocks of whole target tokens share no link type, and each block is
counted separately. Only the sums per source token combine several blocks.
"""

from dataclasses import dataclass
from itertools import groupby, pairwise, product
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.ragged import ranges
from ranklet.corpus.indexing.translation_tables import Translations
from ranklet.corpus.progress import progress
from ranklet.training.rankers.model1.bitext import Bitext

NULL = 0  # the empty word's rank among the sources; the tokens' ranks begin with 1
BLOCK_LINKS = 1 << 20  # links per block, which need about 50 MB of temporary arrays


@dataclass(frozen=True, eq=False)
class Model1:
    """The result of `train_model1`.

    Attributes:
        translations: T(target | source) after the last iteration, without the empty word.
        log_likelihoods: one value per iteration, in nats for the whole bitext, of the table with
            which the iteration began; never decreasing.
        links: number of links per iteration.
    """

    translations: Translations
    log_likelihoods: tuple[float, ...]
    links: int


def train_model1(bitext: Bitext, *, iterations: int = 5, threshold: float = 1e-3) -> Model1:
    """Learn T(target | source) from sentence pairs.

    All translations start equal. The empty word is in every source sentence once and explains the
    target tokens that no source token explains. Its own translations (spurious insertions) are
    removed at the end, as in Boytsov & Kolter (2021, §4.1). Every target position counts once, even
    if a sentence repeats a token.

    Args:
        bitext: the sentence pairs, at least one.
        iterations: number of EM iterations, at least 1; the paper uses 5.
        threshold: entries with a smaller probability are dropped after the last iteration, without
            rescaling (see `off_diagonal`); 0 keeps all.

    Returns:
        The table, in the bitext's token ids, and the log-likelihood of each iteration. Equal
        bitexts give bitwise equal results.
    """
    links = _enumerate_links(bitext)
    types = len(links.source)
    table = np.full(types, 1.0 / len(np.unique(links.target)))  # (types,) float64
    counts = np.empty(types)  # (types,) float64
    log_likelihoods: list[float] = []
    work = progress(list(product(range(iterations), links.blocks)), "learning by EM")
    for _, of_iteration in groupby(work, key=itemgetter(0)):
        log_likelihood = 0.0
        for _, block in of_iteration:
            counts[block.types], part = count_expected(block, table[block.types])
            log_likelihood += part
        table = maximise(counts, links.source)
        log_likelihoods.append(log_likelihood)

    real = links.source != NULL
    translations = Translations(
        source=links.vocabulary[links.source[real] - 1],
        target=links.vocabulary[links.target[real]],
        probability=table[real],
    )
    return Model1(
        translations.only(translations.probability >= threshold),
        tuple(log_likelihoods),
        sum(len(block.link_types) for block in links.blocks),
    )


def off_diagonal(translations: Translations) -> Translations:
    """Return T_off(t|s), which has no self-translations and sums to 1 over t for each source s.

    Then T(t|s) = p_self · [t = s] + (1 − p_self) · T_off(t|s) holds for any p_self, so that this
    constant of Boytsov & Kolter (2021, §3) can be tuned without touching the table. A source that
    translates only into itself gets no entry.

    The threshold of `train_model1` comes first, because 10⁻³ refers to the probabilities that EM
    learned. Otherwise the noise of a source that mostly translates into itself would be scaled up
    over the threshold. The rescaling here also distributes the dropped probability.
    """
    others = translations.only(translations.source != translations.target)
    _, rank = np.unique(others.source, return_inverse=True)
    totals = np.bincount(rank, weights=others.probability)  # (sources,) float64
    return Translations(others.source, others.target, others.probability / totals[rank])


@dataclass(frozen=True, eq=False)
class Block:
    """The links of some target tokens, position by position.

    Attributes:
        types: the range of the block's link types among all link types.
        link_types: (links,) int32, relative to the block's first type.
        lengths: (positions,) int64, the number of links of each target position, at least 1, which
            is the number of source positions of its pair, with the empty word.
    """

    types: slice
    link_types: NDArray[np.int32]
    lengths: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Links:
    """All blocks, and the ranks of all link types, (types,) int32, sorted by (target, source)."""

    vocabulary: NDArray[np.int32]  # (tokens,) token id of each target rank and source rank − 1
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    blocks: list[Block]


def count_expected(block: Block, table: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the expected counts of all link types under T, which is the E step.

    Position j with target t and source positions S(j) adds T(t|s) / Σ_{i ∈ S(j)} T(t|i) to the
    counts of its links and log(Σ_i T(t|i) / |S(j)|) to the log-likelihood.

    Args:
        block: the links.
        table: T of each link type, (types of the block,) float64.

    Returns:
        The counts, (types of the block,) float64, and the log-likelihood of the block in nats.
    """
    share = table[block.link_types]  # (links,) float64
    starts = np.cumsum(block.lengths) - block.lengths
    evidence = np.add.reduceat(share, starts)  # (positions,) float64
    share /= np.repeat(evidence, block.lengths)
    counts = np.bincount(block.link_types, weights=share, minlength=len(table))
    return counts.astype(np.float64, copy=False), float(np.log(evidence / block.lengths).sum())


def maximise(counts: NDArray[np.float64], source: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return T(t|s) = count(t, s) / Σ_t' count(t', s), which is the M step, (types,) float64.

    Args:
        counts: expected counts, (types,) float64.
        source: the rank of each type's source, (types,) int32.
    """
    return counts / np.bincount(source, weights=counts)[source]


def _enumerate_links(bitext: Bitext) -> _Links:
    tokens = np.concatenate([bitext.target_tokens, bitext.source_tokens], dtype=np.int64)
    vocabulary, ranks = number(tokens)
    target, source = np.split(ranks.astype(np.int64), [len(bitext.target_tokens)])
    source = np.insert(source + 1, bitext.source_offsets[:-1], NULL)
    source_offsets = bitext.source_offsets + np.arange(len(bitext.source_offsets))

    pair = np.arange(len(bitext)).repeat(np.diff(bitext.target_offsets))
    order = np.argsort(target, kind="stable")
    target, pair = target[order], pair[order]
    starts = source_offsets[pair]  # (positions,) int64, beginning of the links in `source`
    lengths = np.diff(source_offsets)[pair]  # (positions,) int64, number of links

    blocks: list[Block] = []
    keys: list[NDArray[np.int64]] = []
    base, sources = 0, len(vocabulary) + 1
    bounds = list(pairwise(_block_bounds(target, lengths)))
    for begin, end in progress(bounds, "linking words"):
        block = slice(begin, end)
        links = source[ranges(starts[block], lengths[block])]
        first = target[begin]  # relative to the block's first token, keys stay small for `number`
        links += np.repeat((target[block] - first) * sources, lengths[block])
        key, link_types = number(links)
        types = slice(base, base + len(key))
        blocks.append(Block(types, link_types, lengths[block]))
        keys.append(key + first * sources)
        base = types.stop
    key = np.concatenate(keys)
    return _Links(
        vocabulary.astype(np.int32),
        (key % sources).astype(np.int32),
        (key // sources).astype(np.int32),
        blocks,
    )


def number(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct keys and each key's index among them, like np.unique.

    Key and position are packed into one integer, because numpy sorts integers much faster than it
    finds their sorting order (0.10 s instead of 0.50 s for 4 million keys).

    Args:
        keys: (n,) int64, not negative, n from 1 to 2**31 − 1.

    Returns:
        (distinct,) int64, ascending, and (n,) int32.
    """
    bits = len(keys).bit_length()
    if int(keys.max()) >> (63 - bits):  # 64 bits have no room for the position
        distinct, indices = np.unique(keys, return_inverse=True)
        return distinct, indices.astype(np.int32)
    packed = (keys << bits) | np.arange(len(keys))
    packed.sort()
    place = packed & ((1 << bits) - 1)
    packed >>= bits  # the keys, sorted
    first = np.diff(packed, prepend=-1) != 0  # (n,) bool, where the next distinct key begins
    inverse = np.empty(len(keys), np.int32)
    inverse[place] = np.cumsum(first, dtype=np.int32) - 1
    return packed[first], inverse


def _block_bounds(target: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[int]:
    """Return the bounds of blocks of whole target tokens with about BLOCK_LINKS links each."""
    tokens = np.flatnonzero(np.diff(target, prepend=-1))  # first position of each target token
    links_before = (np.cumsum(lengths) - lengths)[tokens]
    first = np.flatnonzero(np.diff(links_before // BLOCK_LINKS, prepend=-1))
    return [*tokens[first].tolist(), len(target)]
