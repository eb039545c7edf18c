"""What the stored forms of token vectors cost: bytes of a document, and quality.

The ColBERT of qa-mix rescores BM25's first 100, with vectors of 128 and of 64 dimensions, on qa-mix
and on scifact, which it never saw.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.late_interaction import COLBERT_MINUTES, qa_mix_colbert
from benchmarks.built.small_colbert import SMALL, SMALL_MINUTES, qa_mix_colbert_small, turned
from benchmarks.built.token_vectors import (
    DEPTH,
    QUERY_TOKENS,
    REPORTED,
    Ranked,
    blocks,
    ranked,
    token_vectors,
)
from benchmarks.harness.judging import values_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table
from benchmarks.late_interaction.special_tokens import Shares, special_shares
from ranklet.export.rankers.colbert.stored_forms import bytes_of
from ranklet.runtime.dense.clusters import halved
from ranklet.runtime.dense.maxsim import Quantised, TokenStore, pooled, quantise, quantise_query
from ranklet.runtime.rankers.colbert.settings import STORED
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark

PACKAGES = ("torch", "transformers")
MEASURES = ("nDCG@10", "MRR@10")
INTERVAL = 1.96  # standard errors: 95 %
REFERENCE = "float32"
FORMS = (REFERENCE, "int16", "int8", "int8-pooled")
MOST_LOSS = {"int8": 0.3, "int8-pooled": 1.0}  # % of nDCG@10, the goals at 64 dimensions
# By name: the checkpoint, from a place.
SYSTEMS: dict[str, Callable[[Place], Path]] = {
    "128": qa_mix_colbert,
    f"{SMALL}, turned and cut": turned,
    f"{SMALL}, trained on": qa_mix_colbert_small,
}
TRAINED = f"{SMALL}, trained on"

Documents = Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]]  # see `blocks`


class Form(NamedTuple):
    """What a stored form gives."""

    size: float  # bytes of a document
    values: dict[str, NDArray[np.float64]]  # by measure, (queries,)


def run(place: Place) -> str:
    """Encode, store in every form, rescore, and compare with vectors in 32 bits."""
    parts, goals, special = [], [], ""
    for name in REPORTED:
        of_collection = ranked(place, name)
        found = {
            dimensions: forms(place, learned(place), name, of_collection)
            for dimensions, learned in SYSTEMS.items()
        }
        special = special or _special(special_shares(of_collection), name)
        parts.append(quality(name, of_collection, found) + "\n")
        goals += [
            _goal(f"{name}, {SMALL} dimensions, {form}", found[TRAINED], form, most)
            for form, most in MOST_LOSS.items()
        ]
    course = read_checkpoint(qa_mix_colbert_small(place)).training
    return f"""
The oracle was trained for {COLBERT_MINUTES:g} minutes. *{SMALL}, turned and cut* is its \
projection turned by the principal directions of the vectors of documents that are relevant in \
train, without the last dimensions; *{TRAINED}* went on from there for {SMALL_MINUTES:g} minutes, \
{course["steps"]:,} steps. BM25 is tuned, and gives {DEPTH} candidates.

{chr(10).join(parts)}
*Loss* is relative, of nDCG@10, against {REFERENCE} of the same dimensions, with the interval of \
95 % of paired differences over queries; † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's \
correction over the forms of a row's dimensions). *Bytes* include one factor of 4 bytes a vector \
and the offsets of documents.

{chr(10).join(goals)}
- {REFERENCE} is computed from what PyTorch gave, kept in half precision. It cannot be stored: its \
sums depend on the shape of a product, so a score could differ by what else is scored.
- Of 16 bits, whole numbers are stored, because numpy casts half precision to float32 27 times \
more slowly, and this cast is most of the work.

{special}
"""


def forms(place: Place, learned: Path, name: str, of_collection: Ranked) -> dict[str, Form]:
    """Return what each stored form of a ColBERT's vectors gives on a collection."""
    _, _, limit = REPORTED[name]
    texts = [query.text for query in of_collection.queries]
    asked = token_vectors(place, learned, "query", texts, QUERY_TOKENS)
    queries = [asked.tokens([at])[1].astype(np.float32) for at in range(len(asked))]
    documents = token_vectors(place, learned, "document", of_collection.texts, limit)
    found = {}
    for form in FORMS:
        store = stored(blocks(documents), form)
        scores = [
            store.scores(query_of(query, form), numbers)
            for query, numbers in zip(queries, of_collection.candidates, strict=True)
        ]
        found[form] = Form(size_of(store, form), measured(scores, of_collection))
    return found


def stored(documents: Documents, form: str) -> TokenStore:
    """Return a store of documents' vectors in a form of `FORMS`.

    The store of `REFERENCE` has the vectors themselves, in half precision as they are kept.
    """
    lengths, values, scales = [np.zeros(1, np.int64)], [], []
    for own_lengths, own in documents:
        if form.endswith("-pooled"):
            groups, own_lengths = clusters(own, own_lengths)
            own = pooled(own, groups)
        if form == REFERENCE:
            made = Quantised(own.astype(np.float16), np.ones(len(own), np.float32))
        else:
            made = quantise(own, STORED[form])
        lengths.append(own_lengths)
        values.append(made.values)
        scales.append(made.scales)
    vectors = Quantised(np.concatenate(values), np.concatenate(scales))
    return TokenStore(np.cumsum(np.concatenate(lengths)), vectors)


def query_of(vectors: NDArray[np.float32], form: str) -> Quantised:
    """Return a query for a store of a form."""
    if form == REFERENCE:
        return Quantised(vectors, np.ones(len(vectors), np.float32))
    return quantise_query(vectors, STORED[form])


def clusters(
    vectors: NDArray[np.float32], lengths: NDArray[np.int64]
) -> tuple[list[list[int]], NDArray[np.int64]]:
    """Return which vectors share one, and how many are left of each document.

    >>> groups, left = clusters(np.eye(4, dtype=np.float32), np.array([3, 1]))
    >>> [len(each) for each in groups], left.tolist()
    ([2, 1, 1], [2, 1])
    """
    found: list[list[int]] = []
    for begin, length in zip(np.cumsum(lengths) - lengths, lengths, strict=True):
        groups = halved(vectors[begin : begin + length])
        found += [[int(begin) + each for each in group] for group in groups]
    return found, -(-lengths // 2)


def size_of(store: TokenStore, form: str) -> float:
    """Return how many bytes a document takes on average."""
    size = bytes_of(store)
    if form == REFERENCE:  # its numbers take 4 bytes and not 2, and it needs no factors
        size += store.vectors.values.nbytes - store.vectors.scales.nbytes
    return size / len(store)


def measured(
    scores: Sequence[NDArray[np.float32]], found: Ranked
) -> dict[str, NDArray[np.float64]]:
    """Return each measure's value of each query, (queries,).

    Args:
        scores: of each query's candidates.
        found: the queries with their candidates.
    """
    names = [found.names(own) for own in found.candidates]
    return values_of(found.queries, names, scores, MEASURES)


def loss(found: Mapping[str, Form], form: str, measure: str) -> tuple[float, float]:
    """Return what a form loses against `REFERENCE` in %, and half of its 95 % interval."""
    best, own = found[REFERENCE].values[measure], found[form].values[measure]
    lost = best - own
    margin = INTERVAL * lost.std(ddof=1) / np.sqrt(len(lost))
    return 100 * float(lost.mean() / best.mean()), 100 * float(margin / best.mean())


def quality(name: str, of_collection: Ranked, found: Mapping[str, Mapping[str, Form]]) -> str:
    """Return the table of a collection: a row for each stored form of each ColBERT."""
    split, _, limit = REPORTED[name]
    rows = []
    for dimensions, of_forms in found.items():
        marks = _marks(of_forms)
        for form, each in of_forms.items():
            lost, margin = loss(of_forms, form, MEASURES[0])
            against = f"{lost:+.2f} % ± {margin:.2f}{marks[form]}" if form != REFERENCE else ""
            means = (f"{each.values[measure].mean():.4f}" for measure in MEASURES)
            rows.append([f"{dimensions}: {form}", f"{each.size:,.0f}", *means, against])
    return (
        f"{name}: {len(of_collection.ids):,} documents of at most {limit} tokens, "
        f"{len(of_collection.queries):,} queries of {split}.\n\n"
        + table(["dimensions: form", "bytes a document", *MEASURES, "loss"], rows)
    )


def _marks(of_forms: Mapping[str, Form]) -> dict[str, str]:
    values = {form: each.values[MEASURES[0]] for form, each in of_forms.items()}
    others = [form for form in of_forms if form != REFERENCE]
    tested = compare(values, pairs=[(form, REFERENCE) for form in others])
    found = {form: mark(each.p_holm).strip() for form, each in zip(others, tested, strict=True)}
    return {REFERENCE: "", **found}


def _goal(what: str, found: Mapping[str, Form], form: str, most: float) -> str:
    lost, margin = loss(found, form, MEASURES[0])
    return f"{goal(f'{what}: loss of nDCG@10', lost, most, '%')} ± {margin:.2f}"


def _special(found: Shares, name: str) -> str:
    return f"""What special tokens add: a ColBERT that gives vectors to [CLS] and [SEP], too, made \
of MiniLM-L6 without training, the cosine of its {found.dimension} states. {found.pairs:,} pairs \
of a query of {name} and one of BM25's first documents:

{table(["", "mean", "5 %", "95 %"], [[label, *cells] for label, cells in found.rows()])}"""
