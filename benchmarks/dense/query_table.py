"""A table of vectors for queries next to the network that it learned from, to words, and to both.

Documents are encoded by the network in all of them. Tables learn from random words of the model
alone, and then from texts of the collection, of all others, or of all. No query is learned from.
Every step is kept, so an interrupted run continues.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.fusion.collections import (
    BM25,
    COMPARED,
    E5,
    Compared,
    bundle_of,
    documents_of,
    model_of,
    queries_of,
)
from benchmarks.fusion.collections import QUERIES as MOST
from benchmarks.harness.place import MissingDataError, Place
from benchmarks.harness.report import goal_at_least, table
from ranklet import runtime
from ranklet.corpus.building.default_fusion import FUSION, describe_fusion
from ranklet.corpus.building.default_pipelines import SUM
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.evaluation.significance import compare
from ranklet.corpus.evaluation.systems import evaluate
from ranklet.export.query_side import Learned, Teacher
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.query_table import QUERIES
from ranklet.workflows.tables.learning import BLOCK, beginning, learned, single_tokens
from ranklet.workflows.tables.texts import list_words, random_texts, short_texts
from ranklet.workflows.tables.vectors import make_tables, write_tables

PACKAGES = ("onnxruntime", "tokenizers", "torch", "transformers")
MEASURE, DEPTH = "nDCG@10", 100
DOCUMENTS = 2_500  # of a collection, at most, besides those that answer a query
RANDOM = {True: 20_000, False: 60_000}  # sequences of random words, of E5 and of others
SHORT = 20_000  # short texts of each collection
SOURCES = ("model", "collection", "others", "all")  # that a table learns from
LEAST_SHARE, SURE = 0.96, 0.01  # of the network's hybrid, and p above words
LEARNING = ("training/distilling", "src/ranklet/workflows/tables/texts.py", "runtime/onnx")

Values = Mapping[str, NDArray[np.float64]]  # of each query, by system


def run(place: Place) -> str:
    """Learn the tables of each collection, and compare the systems on its queries."""
    found, sizes = dict[str, Values](), dict[str, int]()
    for each in compared():
        try:
            found[each.name], sizes[each.name] = _collection(place, each)
        except MissingDataError as missing:
            print(f"{each.name}: {missing}", file=sys.stderr)
            continue
        print(quality({each.name: found[each.name]}), file=sys.stderr)
    return f"{quality(found)}\n\n{said(sizes)}\n\n{verdicts(found)}"


def compared() -> list[Compared]:
    """Return the collections, with at most `DOCUMENTS`."""
    return [each._replace(documents=min(DOCUMENTS, each.documents)) for each in COMPARED]


def _collection(place: Place, each: Compared) -> tuple[Values, int]:
    """Return the measure of each query by system, and the bytes of the largest table."""
    network, size = bundle_of(place, each, model_of(each)), 0
    recipes = {"BM25": BM25, "network": each.model, "BM25 + network": SUM}
    values = {**list_values(place, each, network, recipes, "network")}
    for source in SOURCES:
        bundle = with_table(place, each, source)
        recipes = {f"table ({source})": each.model, f"BM25 + table ({source})": SUM}
        values |= list_values(place, each, bundle, recipes, source)
        folder, files = f"rankers/{each.model}/{QUERIES}", bundle.manifest.files
        size = sum(entry.bytes for file, entry in files.items() if file.startswith(folder))
    return values, size


def with_table(place: Place, each: Compared, source: str) -> runtime.Bundle:
    """Return a collection's bundle with a table, and with the weights that a build gives."""
    network = bundle_of(place, each, model_of(each))

    def build(path: Path) -> None:
        part = path.with_name(f"{path.name}.part")
        made = {each.model: make_table(place, each, _parts(each, source))}
        write_tables(network.files, part, made, overwrite=True)
        files = BundleFiles(part)
        with BundleWriter(path, overwrite=True) as writer:
            writer.copy(files)
            fused = describe_fusion(files, FUSION)
            writer.finish(
                replace(
                    files.manifest, pipelines=fused.pipelines,
                    default_pipeline=fused.default,
                )
            )  # fmt: skip

    name = f"{each.name}.{each.model}.{source}.table.ranklet"
    return runtime.load(place.keep(name, build, LEARNING, str(network.manifest.sha256)))


def make_table(place: Place, each: Compared, parts: Sequence[Compared]) -> Learned:
    """Return a table that learned from words, and then from texts of some collections."""
    began, (teacher, alone, given, vectors) = monotonic(), _words_with_vectors(place, each)
    begin = beginning([*alone], vectors[: len(alone)], teacher.tokenizer.get_vocab_size())
    first = learned(teacher, given[len(alone) :], vectors[len(alone) :], begin, began)
    if not parts:
        return first
    return learned(teacher, *_texts_with_vectors(place, teacher, parts), first.rows, began)


def _parts(each: Compared, source: str) -> list[Compared]:
    """Return the collections whose texts a table learns from."""
    wanted = {"model": (), "collection": (True,), "others": (False,), "all": (True, False)}[source]
    alike = [other for other in compared() if other.model == each.model]
    return [other for other in alike if (other.name == each.name) in wanted]


class Words(NamedTuple):
    """A network's vectors of single tokens, and then of sequences of random words.

    Attributes:
        teacher: the network.
        alone: the spellings of single tokens, by their ids.
        texts: the spellings, and then the sequences.
        vectors: of each text, (texts, dimension).
    """

    teacher: Teacher
    alone: dict[int, str]
    texts: list[str]
    vectors: NDArray[np.float16]


def _words_with_vectors(place: Place, each: Compared) -> Words:
    """Return the words of a collection's network."""
    network = bundle_of(place, each, model_of(each)).files
    teacher = make_tables(network, each.model).teacher(network, each.model)
    alone = single_tokens(teacher.tokenizer)
    words = islice(random_texts(list_words(teacher.tokenizer)), RANDOM[each.model == E5])
    given = chain(alone.values(), words)
    return Words(teacher, alone, *_encoded(place, f"{each.model}.words", teacher, given))


def _texts_with_vectors(
    place: Place, teacher: Teacher, parts: Sequence[Compared]
) -> tuple[list[str], NDArray[np.float16]]:
    """Return short texts of some collections with a network's vectors, (texts, dimension)."""
    found = [
        _encoded(place, f"{part.name}.{part.model}.texts", teacher, _texts(place, part))
        for part in parts
    ]
    return [text for own, _ in found for text in own], np.concatenate([own for _, own in found])


def _texts(place: Place, each: Compared) -> list[str]:
    titled = ((document.title, document.text) for document in documents_of(place, each))
    return short_texts(titled, SHORT)


def _encoded(
    place: Place, name: str, teacher: Teacher, texts: Iterable[str]
) -> tuple[list[str], NDArray[np.float16]]:
    """Return texts with the network's vectors of them, (texts, dimension), which are kept."""
    given = [*texts]

    def build(path: Path) -> None:
        parts = [
            teacher.encode(given[at : at + BLOCK]).astype(np.float16)
            for at in range(0, len(given), BLOCK)
        ]
        np.save(path, np.concatenate(parts))

    key = f"{len(given)} {teacher.digest}"
    path = place.keep(f"{name}.npy", build, ("src/ranklet/workflows/tables/texts.py",), key)
    return given, np.load(path)


def list_values(
    place: Place,
    each: Compared,
    bundle: runtime.Bundle,
    recipes: Mapping[str, str],
    part: str,
    most: int = MOST,
) -> dict[str, NDArray[np.float64]]:
    """Return the measure of each query, at most so many, by system, which is kept.

    Args:
        place: where it is kept.
        each: the collection.
        bundle: of it.
        recipes: the name of the pipeline of each system.
        part: of the name of what is kept.
        most: queries.
    """

    def build(path: Path) -> None:
        pipelines = {name: bundle.manifest.pipelines[own] for name, own in recipes.items()}
        found = evaluate(
            bundle, queries_of(place, each, most), pipelines, measures=[MEASURE], depth=DEPTH
        )
        path.write_text(json.dumps({it.pipeline: it.values[MEASURE].tolist() for it in found}))

    given = f"{bundle.manifest.sha256} {most}"
    path = place.keep(f"{each.name}.{part}.values.json", build, ("runtime/execution",), given)
    return {name: np.array(each) for name, each in json.loads(path.read_text()).items()}


def quality(found: Mapping[str, Values]) -> str:
    """Return the table of the measure by collection and system, with p against words."""
    names = [*next(iter(found.values()))]
    rows = [
        [
            each,
            len(values[names[0]]),
            *(f"{values[name].mean():.3f}{_sure(values, name)}" for name in names),
        ]
        for each, values in found.items()
    ]
    rows.append(["mean", "", *(f"{_mean(found, name):.3f}" for name in names)])
    head = table([MEASURE, "queries", *names], rows)
    return f"{head}\n\n`*` is above BM25 with p < .05, and `**` with p < .01 (paired)."


def said(sizes: Mapping[str, int]) -> str:
    """Return what is ranked, and the sizes of the tables."""
    of = ", ".join(f"{size / 1e6:.1f} MB ({name})" for name, size in sizes.items())
    return f"""At most {MOST:,} queries and {DOCUMENTS:,} documents of each collection, or those \
that answer a query where these are more. A sum gets the weights of a build. Tables learned from \
single tokens and {RANDOM[False]:,} sequences of random words ({RANDOM[True]:,} with E5, for \
debian-de and the others of its kind), and then from at most {SHORT:,} titles, sentences and \
phrases of each collection. *Others* and *all* are collections with the same network.

The tables of queries: {of}."""


def verdicts(found: Mapping[str, Values]) -> str:
    """Return which goals are met."""
    hybrid = "BM25 + table (all)"
    share = _mean(found, hybrid) / _mean(found, "BM25 + network")
    surely = count_sure(found, hybrid)
    return "\n".join(
        [
            goal_at_least("the share of the hybrid with the network", share, LEAST_SHARE, ""),
            goal_at_least(f"collections above BM25 with p < {SURE}", surely, 0.9 * len(found), ""),
        ]
    )


def count_sure(found: Mapping[str, Values], name: str) -> int:
    """Return on how many collections a system is surely above words."""
    return sum(_p(values, name) < SURE for values in found.values())


def _mean(found: Mapping[str, Values], name: str) -> float:
    return float(np.mean([values[name].mean() for values in found.values()]))


def _p(values: Values, name: str) -> float:
    """Return p of a gain over words; 1 if there is none."""
    (tested,) = compare({each: values[each] for each in (name, "BM25")}, pairs=[(name, "BM25")])
    return tested.p if tested.difference > 0 else 1.0


def _sure(values: Values, name: str) -> str:
    p = 1.0 if name == "BM25" else _p(values, name)
    return "**" if p < SURE else "*" if p < 0.05 else ""
