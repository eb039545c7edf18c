"""What the stored forms of dense vectors lose: float16, int8, and int8 behind binary codes.

Vectors are MiniLM-L6's as it comes, exported in int8. The documents and judged queries are those of
dense_quality, and the reference is exact search over float32.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense.dense_quality import REPORTED, chosen
from benchmarks.dense.dense_search import BLOCK, CODE, encoder, recalls
from benchmarks.harness.judging import values_of
from benchmarks.harness.place import Place
from benchmarks.harness.report import table
from ranklet.runtime.dense.binary import BinaryIndex, binary_codes
from ranklet.runtime.dense.exact import ExactIndex
from ranklet.runtime.dense.stored import FORMS, WHOLE, StoredVectors
from ranklet.runtime.rankers.dense import DenseEncoder
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.evaluation.significance import compare
from ranklet.training.evaluation.systems import mark

PACKAGES = ("onnxruntime",)
MEASURES = ("nDCG@10", "MRR@10")
TOP = 10
INTERVAL = 1.96  # standard errors: 95 %
CODES = "int8, binary codes"


class Texts(NamedTuple):
    """A collection that is searched, and its vectors."""

    queries: list[JudgedQuery]
    ids: list[str]
    of_queries: NDArray[np.float32]  # (queries, dimension)
    of_documents: NDArray[np.float32]  # (documents, dimension)


class Found(NamedTuple):
    """What a form gives."""

    size: float  # bytes of a document
    numbers: list[list[int]]  # of the first ten documents of each query
    values: dict[str, NDArray[np.float64]]  # by measure, (queries,)


def run(place: Place) -> str:
    """Encode what is not kept, search every form, and compare with float32."""
    parts = []
    for name, reported in REPORTED.items():
        texts = encoded(place, name)
        parts.append(
            f"{name}: {len(texts.ids):,} documents of at most {reported.tokens} tokens, "
            f"{len(texts.queries):,} queries of {reported.split}.\n\n{quality(searched(texts))}\n"
        )
    return f"""
{chr(10).join(parts)}
*Loss* is relative, of nDCG@10, against {WHOLE}, with the interval of 95 % of paired differences \
over queries; † p < .05, ‡ p < .01 (two-sided paired t-tests, Holm's correction over the forms of \
a collection). *Recall* is the share of {WHOLE}'s ten documents that are found. *Bytes* of a \
document include the factor of int8, and its code. Vectors: MiniLM-L6 (int8), 384 numbers.
"""


def encoded(place: Place, name: str) -> Texts:
    """Return a collection's vectors, which are kept."""
    searching = chosen(place, name)
    texts = [ranked_text(each.title, each.text, True) for each in searching.documents]
    asked = [query.text for query in searching.queries]

    def build(path: Path) -> None:
        whole = encoder(place)
        settings = replace(whole.settings, max_document_tokens=REPORTED[name].tokens)
        minilm = DenseEncoder(settings, whole.encoder)
        rows = [
            minilm.encode_documents(texts[begin : begin + BLOCK]).vectors
            for begin in range(0, len(texts), BLOCK)
        ]
        with path.open("wb") as file:
            np.savez(file, queries=minilm.encode_queries(asked).vectors, rows=np.concatenate(rows))

    code = (*CODE, "benchmarks/dense/dense_quality.py", "benchmarks/dense/dense_stored.py")
    with np.load(place.keep(f"dense.stored.{name}.npz", build, code)) as arrays:
        of_queries, of_documents = arrays["queries"], arrays["rows"]
    ids = [each.id for each in searching.documents]
    return Texts(searching.queries, ids, of_queries, of_documents)


def searched(texts: Texts) -> dict[str, Found]:
    """Return what each form finds, by its name."""
    found = {}
    for name in (*FORMS, CODES):
        stored = StoredVectors.of(texts.of_documents, "int8" if name == CODES else name)
        size, index = stored.nbytes, ExactIndex(stored).search
        if name == CODES:
            codes = binary_codes(stored.values)
            size, index = size + codes.nbytes, BinaryIndex(codes, stored).search
        results = [index(query, TOP) for query in texts.of_queries]
        numbers = [each[0].tolist() for each in results]
        values = values_of(
            texts.queries,
            [[texts.ids[number] for number in own] for own in numbers],
            [scores for _, scores in results],
            MEASURES,
        )
        found[name] = Found(size / len(stored), numbers, values)
    return found


def loss(found: Mapping[str, Found], form: str) -> tuple[float, float]:
    """Return what a form loses of nDCG@10 in % of float32's, and half of its 95 % interval."""
    best, own = (found[name].values[MEASURES[0]] for name in (WHOLE, form))
    lost = best - own
    margin = INTERVAL * lost.std(ddof=1) / np.sqrt(len(lost))
    return 100 * float(lost.mean() / best.mean()), 100 * float(margin / best.mean())


def quality(found: Mapping[str, Found]) -> str:
    """Return the table of a collection: a row per form."""
    others = [form for form in found if form != WHOLE]
    values = {form: each.values[MEASURES[0]] for form, each in found.items()}
    tested = compare(values, pairs=[(form, WHOLE) for form in others])
    marks = {form: mark(each.p_holm).strip() for form, each in zip(others, tested, strict=True)}
    rows = []
    for form, each in found.items():
        lost, margin = loss(found, form)
        rows.append(
            [
                form,
                f"{each.size:,.0f}",
                *(f"{each.values[measure].mean():.4f}" for measure in MEASURES),
                f"{recalls(each.numbers, found[WHOLE].numbers):.4f}",
                "" if form == WHOLE else f"{lost:+.2f} % ± {margin:.2f}{marks[form]}",
            ]
        )
    return table(["form", "bytes a document", *MEASURES, f"recall@{TOP}", "loss"], rows)
