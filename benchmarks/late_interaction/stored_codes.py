"""What the stored forms of light vectors cost: bytes of a document, and quality.

SRM without a window rescores BM25's first 100. Its documents are stored as vectors, or as codes,
which are the id of each token and the weights of its sub-embeddings in 8 bits.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.light import Judged, judged, learned
from benchmarks.built.token_vectors import REPORTED
from benchmarks.harness.intervals import difference
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from benchmarks.late_interaction.stored_vectors import (
    MEASURES,
    REFERENCE,
    measured,
    query_of,
    size_of,
    stored,
)
from ranklet.export.rankers.srm.static_part import static_part
from ranklet.runtime.dense.maxsim import MaxSimStore, TokenStore
from ranklet.runtime.rankers.srm.codes import Codes, CodeStore, Decoder, coded_weights, token_type
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark
from ranklet.training.rankers.srm.network import light_vectors
from ranklet.training.rankers.srm.training import network_of, vectors_of

PACKAGES = ("torch", "transformers")
CODES = "codes"
FORMS = (REFERENCE, "int16", "int8", "int8-pooled", CODES)
SYSTEMS: dict[str, dict[str, Any]] = {
    "SRM, K = 10": {"window": 0},
    "SRM-K1": {"sub_embeddings": 1, "window": 0},
}
QUERIES = 500  # of each collection, at most
BLOCK = 64  # documents at a time


class Coded(NamedTuple):
    """Documents by their light vectors and by their codes.

    Attributes:
        lengths: tokens of each document, (documents,) int64.
        vectors: of all tokens, (tokens, dimension) float32.
        codes: of the same tokens.
    """

    lengths: NDArray[np.int64]
    vectors: NDArray[np.float32]
    codes: Codes


def run(place: Place) -> str:
    """Store the documents in every form, rescore, and compare with vectors in 32 bits."""
    parts = [_part(place, name) for name in REPORTED]
    return f"""
The rankers are those of `light_quality`, seed 0. *Loss* is relative, of nDCG@10, against \
{REFERENCE}, with the interval of 95 % of paired differences over queries; † p < .05, ‡ p < .01 \
(two-sided paired t-tests, Holm's correction over the forms of a ranker). *Bytes* are those of the \
documents with their offsets, without the table of sub-embeddings that {CODES} need to be read.

{chr(10).join(parts)}"""


def _part(place: Place, name: str) -> str:
    found, rows = judged(place, name), []
    for label, changes in SYSTEMS.items():
        checkpoint = read_checkpoint(learned(place, label, 0, changes))
        values, sizes = forms(checkpoint, found)
        best = values[REFERENCE][MEASURES[0]]
        others = [form for form in FORMS if form != REFERENCE]
        tested = compare(
            {form: values[form][MEASURES[0]] for form in FORMS},
            pairs=[(form, REFERENCE) for form in others],
        )
        marks = {form: mark(each.p_holm).strip() for form, each in zip(others, tested, strict=True)}
        for form in FORMS:
            lost = ""
            if form != REFERENCE:
                interval = difference(best, values[form][MEASURES[0]])
                margin = (interval.high - interval.low) / 2
                lost = f"{100 * interval.value / best.mean():+.2f} % ± "
                lost += f"{100 * margin / best.mean():.2f}{marks[form]}"
            means = [f"{values[form][measure].mean():.4f}" for measure in MEASURES]
            rows.append([f"{label}: {form}", f"{sizes[form]:,.0f}", *means, lost])
    count = min(QUERIES, len(found.ranked.queries))
    head = ["ranker: form", "bytes a document", *MEASURES, "loss"]
    return f"### {name}, the first {count:,} queries\n\n{table(head, rows)}\n"


def forms(
    checkpoint: Checkpoint, found: Judged
) -> tuple[dict[str, dict[str, NDArray[np.float64]]], dict[str, float]]:
    """Return by form each measure's values, and how many bytes a document takes."""
    model, everything = network_of(checkpoint), range(min(QUERIES, len(found.ranked.queries)))
    candidates = [found.ranked.candidates[at] for at in everything]
    used = np.unique(np.concatenate(candidates))
    coded = _coded(checkpoint, found, used)
    queries = vectors_of(model, found.of_queries, everything)
    part = found.ranked._replace(
        queries=[found.ranked.queries[at] for at in everything], candidates=candidates
    )
    values, sizes = {}, {}
    for form in FORMS:
        store = _stored(coded, form, checkpoint)
        sizes[form] = _size(store, coded, form)
        element = "int16" if form == CODES else form
        scores = [
            store.scores(query_of(query, element), np.searchsorted(used, own))
            for query, own in zip(queries, candidates, strict=True)
        ]
        values[form] = measured(scores, part)
    return values, sizes


def _stored(coded: Coded, form: str, checkpoint: Checkpoint) -> MaxSimStore:
    if form != CODES:
        return stored([(coded.lengths, coded.vectors)], form)
    offsets = np.concatenate([[0], np.cumsum(coded.lengths)])
    static = static_part(checkpoint, checkpoint.need_tokenizer())
    return CodeStore(offsets, coded.codes, Decoder(checkpoint.settings, static.table))


def _size(store: MaxSimStore, coded: Coded, form: str) -> float:
    if isinstance(store, TokenStore):
        return size_of(store, form)
    size = coded.codes.tokens.nbytes + coded.codes.weights.nbytes + store.offsets.nbytes
    return size / len(store)


def _coded(checkpoint: Checkpoint, found: Judged, used: NDArray[np.int64]) -> Coded:
    """Return the documents of some numbers, by vectors and by codes."""
    import torch

    model, settings = network_of(checkpoint), checkpoint.settings
    lengths: list[int] = []
    parts: Mapping[str, list[NDArray[Any]]] = {"ids": [], "vectors": [], "weights": []}
    with torch.inference_mode():
        for begin in range(0, len(used), BLOCK):
            block = used[begin : begin + BLOCK].tolist()
            padded = found.of_documents.padded(block)
            made, weights = light_vectors(model, padded)
            kept = padded.kept
            lengths += kept.sum(1).tolist()
            parts["ids"].append(padded.ids[kept].numpy())
            parts["vectors"].append(made[kept].numpy())
            own = None if weights is None else weights[kept].numpy()
            parts["weights"].append(coded_weights(own, int(kept.sum()), settings))
    vocabulary = checkpoint.need_tokenizer().get_vocab_size()
    ids: NDArray[np.integer] = np.concatenate(parts["ids"]).astype(token_type(vocabulary))
    codes = Codes(ids, np.concatenate(parts["weights"]))
    return Coded(np.array(lengths, np.int64), np.concatenate(parts["vectors"]), codes)
