"""Which values of EPIC's documents to keep: floors and priorities, chosen on queries of train.

The paper keeps the r largest values of φ_d (MacAvaney et al., §3). Nearly all values of ours are
above 0, so a bundle has those that are largest above a floor per term, times a priority per term.
Both are choices. Held-out queries of train make them here, so `epic_quality` reports on queries
that had no part in them. The picture is the paper's Figure 2, how often each value occurs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.trained import EPIC_STEPS, HELD_OUT, TUNING_QUERIES, qa_mix_epic, tuned_bm25
from benchmarks.cross_encoders.candidates import found_by_bm25
from benchmarks.harness.evenly import unseen
from benchmarks.harness.intervals import difference, shown
from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.report import table
from benchmarks.quality.epic_quality import reciprocal_rank
from ranklet.export.onnx.graph import TorchSession
from ranklet.export.sparse.pruning import COMMON, FLOOR, term_floors, term_priorities
from ranklet.export.sparse.scoring import encoders_over
from ranklet.runtime.call.query_vector import SparseQuery
from ranklet.runtime.call.topk import top_k
from ranklet.runtime.lexical.sparse_store import prune, store_of_rows
from ranklet.runtime.rankers.epic import EPICEncoders
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.impacts import index_of_rows
from ranklet.training.progress import progress
from ranklet.training.rankers.epic import training as epic
from ranklet.training.rankers.epic.network import DocumentEncoder, QueryEncoder

PACKAGES = ("torch", "transformers", "matplotlib")
COLLECTION = "qa-mix"
QUERIES, DEPTH = 500, 8  # BM25's first documents of each query are searched, and what is relevant
FLOORS = (None, 0.25, FLOOR, 0.75, 0.9)  # quantiles; None for no floor
EXPONENTS = (0.0, 0.125, COMMON, 0.5)  # 0 is the paper's
KEPT = (100, 200, 1000)  # r
TOP = 10
BLOCK = 64  # documents encoded or pruned together
STEP = 0.1  # the paper rounds values to this
PICTURE = ROOT / "docs" / "epic-values.png"


class Choice(NamedTuple):
    """A way to keep values.

    Attributes:
        floor: quantile of a term's values that they are counted from; None for no floor.
        exponent: of the number of documents that have the term.
    """

    floor: float | None
    exponent: float


USUAL = Choice(FLOOR, COMMON)  # what a bundle is made with


@dataclass(frozen=True)
class Study:
    """Documents and queries as EPIC encodes them.

    Attributes:
        ids: of the documents.
        vectors: φ_d, (documents, vocabulary) float32.
        probes: φ_d of the probes, which floors are made of, (probes, vocabulary) float32.
        tokens: terms of each probe, which priorities are made of.
        queries: with their relevant documents.
        encoded: the same queries.
    """

    ids: list[str]
    vectors: NDArray[np.float32]
    probes: NDArray[np.float32]
    tokens: Sequence[Sequence[int] | NDArray[np.integer]]
    queries: Sequence[JudgedQuery]
    encoded: Sequence[SparseQuery]

    @cached_property
    def above(self) -> NDArray[np.float32]:
        """What is above the usual floors, (documents, vocabulary) float32."""
        above: NDArray[np.float32] = self.vectors - self.floors(USUAL.floor)
        return np.maximum(above, 0, out=above)

    def floors(self, share: float | None) -> NDArray[np.float32]:
        """Return the floor of each term, (vocabulary,) float32."""
        if share is None:
            return np.zeros(self.probes.shape[1], np.float32)
        return term_floors(self.probes, share)

    def pruned(self, choice: Choice, kept: int) -> NDArray[np.float64]:
        """Return MRR@10 of each query by the values that are kept, (queries,)."""
        floors = self.floors(choice.floor)
        priorities = term_priorities(self.tokens, len(floors), choice.exponent)
        rows = [
            prune(np.maximum(self.vectors[at : at + BLOCK] - floors, 0), kept, priorities)
            for at in range(0, len(self.vectors), BLOCK)
        ]
        store = store_of_rows(np.concatenate(rows))
        values = store.values.astype(np.float32)
        index = index_of_rows(store.offsets, store.terms, values, len(floors))
        return self._measured(index.retrieve(*each, TOP)[0] for each in self.encoded)

    def whole(self) -> NDArray[np.float64]:
        """Return the same by all values of φ_d."""
        scores = (query.weights @ self.vectors[:, query.terms].T for query in self.encoded)
        return self._measured(top_k(each, TOP) for each in scores)

    def _measured(self, found: Iterator[NDArray[np.integer]]) -> NDArray[np.float64]:
        ranked = ([self.ids[at] for at in each.tolist()] for each in found)
        pairs = zip(self.queries, ranked, strict=True)
        return np.array([reciprocal_rank(query.relevant, own) for query, own in pairs])


def run(place: Place) -> str:
    """Train or take what is kept; encode, prune in every way, compare."""
    studied = study(place, qa_mix_epic(place), QUERIES)
    draw(studied)
    return section(studied)


def section(studied: Study) -> str:
    """Return the table of a study."""
    values = {
        choice: [studied.pruned(choice, kept) for kept in KEPT]
        for choice in progress(ways(), "ways to prune")
    }
    means = {choice: float(np.mean(own)) for choice, own in values.items()}
    best = max(means, key=lambda choice: means[choice])
    rows = []
    for choice, own in values.items():
        against = [difference(a, b) for a, b in zip(own, values[USUAL], strict=True)]
        cells = [f"{each.mean():.4f}" for each in own]
        gaps = [""] * len(KEPT) if choice == USUAL else [shown(each) for each in against]
        rows.append([*_named(choice), *cells, f"{means[choice]:.4f}", *gaps])
    head = ["floor", "exponent", *(f"r = {kept:,}" for kept in KEPT), "mean"]
    head += [f"r = {kept:,} − usual (95 %)" for kept in KEPT]
    gap = difference(np.mean(values[USUAL], axis=0), np.mean(values[best], axis=0))
    whole = studied.whole()
    losses = [
        f"{shown(difference(own, whole))} at r = {kept:,}"
        for kept, own in zip(KEPT, values[USUAL], strict=True)
    ]
    return f"""\
EPIC learned for {EPIC_STEPS} steps, as in `epic_quality`. {len(studied.queries):,} held-out \
queries of {COLLECTION}'s train, none of which chose between its weights, search \
{len(studied.ids):,} documents: BM25's first {DEPTH} of each query and what is relevant. MRR@10 of \
retrieving. *Floor*: a term's values are counted from this quantile of its values in the probes' \
{len(studied.probes):,} documents. *Exponent*: of 1 + n, where n of the probes have the term; the \
product with it decides which values are kept. The paper has no floor and the exponent 0. A bundle \
has {_named(USUAL)[0]} and {_named(USUAL)[1]}. Intervals are the paired t-test's, without a \
correction.

{table(head, rows)}

The best mean over r has the floor {_named(best)[0]} and the exponent {_named(best)[1]}. What a \
bundle has is {shown(gap)} from it. By all values of φ_d MRR@10 is {whole.mean():.4f}, and what a \
bundle has is {"; ".join(losses)} from that.

How often a value occurs (MacAvaney et al., Figure 2; picture: docs/{PICTURE.name}): \
{_low(studied.vectors):.1%} of φ_d's values are {STEP} or below, and {_low(studied.above):.1%} of \
those above the floors. The paper has 74 %."""


def ways() -> list[Choice]:
    """Return all that are compared, the paper's first."""
    return [Choice(*each) for each in product(FLOORS, EXPONENTS)]


def study(place: Place, checkpoint: Checkpoint, most: int) -> Study:
    """Encode queries and documents by PyTorch.

    Args:
        place: of the run.
        checkpoint: an EPIC.
        most: queries.
    """
    collection = place.collection(COLLECTION)
    queries = unseen(collection, HELD_OUT, chose=TUNING_QUERIES, most=most)
    lists = found_by_bm25(place, collection, tuned_bm25(place, COLLECTION), queries, DEPTH)
    wanted = {*lists.texts, *(name for query in queries for name in query.relevant)}
    texts = {
        each.id: ranked_text(each.title, each.text)
        for each in collection.documents()
        if each.id in wanted
    }
    network = epic.load(checkpoint)
    tokenizer, probes = checkpoint.need_tokenizer(), checkpoint.probes
    if probes is None:
        raise ValueError("an EPIC has probes")
    of_queries, of_documents = (
        TorchSession(part) for part in (QueryEncoder(network), DocumentEncoder(network))
    )
    encoders = encoders_over(
        EPICEncoders, checkpoint.settings, tokenizer, {}, (of_queries, of_documents)
    )
    probed = encoders.encode_whole(probes.documents).vectors
    tokens = [feeds["input_ids"][0] for feeds in of_documents.feeds]
    whole = list(texts.values())
    blocks = [
        encoders.encode_whole(whole[at : at + BLOCK]).vectors
        for at in progress(range(0, len(whole), BLOCK), "encoding")
    ]
    encoded, _ = encoders.encode_queries([query.text for query in queries])
    return Study(list(texts), np.concatenate(blocks), probed, tokens, queries, encoded)


def draw(studied: Study) -> None:
    """Draw how often each value occurs, rounded as in the paper."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5.2, 3.2))
    for label, values in {"φ_d": studied.vectors, "φ_d above the floors": studied.above}.items():
        counts = np.bincount(np.round(values / STEP).astype(np.int64).ravel())
        held = np.flatnonzero(counts)
        axes.plot(held * STEP, counts[held] / counts.sum(), "o-", markersize=3, label=label)
    axes.set(yscale="log", xlabel=f"value, rounded to {STEP}", ylabel="share of all values")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=120, metadata={"Software": None})
    pyplot.close(figure)


def _low(values: NDArray[np.float32]) -> float:
    """Return the share of values that the paper's figure counts as 0.1 or below."""
    return float((np.round(values / STEP) <= 1).mean())


def _named(choice: Choice) -> tuple[str, str]:
    floor = "none" if choice.floor is None else f"{choice.floor:.0%}"
    return floor, f"{choice.exponent:g}"
