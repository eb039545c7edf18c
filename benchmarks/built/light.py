"""Light vectors of qa-mix's ColBERT: their material, their trainings and their scores, all kept."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.late_interaction import COLBERT, qa_mix_colbert
from benchmarks.built.token_vectors import (
    FOLDER,
    QUERY_TOKENS,
    REPORTED,
    Ranked,
    ranked,
    token_vectors,
)
from benchmarks.built.trained import HELD_OUT, LEARN, TUNING_QUERIES, all_cores, tuned_bm25
from benchmarks.harness.place import Place
from ranklet.runtime.dense.maxsim import Quantised, TokenStore, quantise_query
from ranklet.runtime.lexical.bm25 import idf
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.data.splits import read_split
from ranklet.training.rankers.srm.material import Material
from ranklet.training.rankers.srm.network import LightNetwork
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import TokenVectors
from ranklet.training.rankers.srm.training import document_vectors, learn, network_of, vectors_of

LEARNING_QUERIES = 15_000  # of qa-mix's train
BLOCK = 2048  # documents whose vectors are in memory in 32 bits at a time
ELEMENT = "int16"  # how documents are stored while candidates are scored
VOCABULARY = 1 << 16  # more than the ids of any token here
LIGHT = (
    *COLBERT,
    "training/rankers/srm",
    "benchmarks/built/light.py",
    "benchmarks/built/token_vectors.py",
)
BASE: dict[str, Any] = {
    "batch": 32, "steps": 80, "evaluations": 1, "distil_texts": 0, "distil_steps": 150,
    "distil_batch": 32,
}  # fmt: skip
ORACLE = "oracle"


class Judged(NamedTuple):
    """The queries of a collection, what is reranked for them, and the oracle's vectors.

    Attributes:
        ranked: the queries with their candidates.
        of_queries: the oracle's vectors of the queries.
        of_documents: the oracle's vectors of all documents of the collection.
    """

    ranked: Ranked
    of_queries: TokenVectors
    of_documents: TokenVectors


class Found(NamedTuple):
    """What is kept of a system."""

    facts: dict[str, Any]
    scores: dict[str, list[NDArray[np.float32]]]  # by collection, of each query's candidates


def options(place: Place, **changes: Any) -> Options:
    """Return the options of a training that differs from `BASE` in some values."""
    return Options(
        **{"oracle": qa_mix_colbert(place), "folder": place.work / FOLDER, **BASE, **changes},
        bm25=tuned_bm25(place, "qa-mix"),
    )


@lru_cache(maxsize=1)
def material(place: Place) -> Material:
    """Return what all trainings share: documents and 15,000 queries of qa-mix, texts of scifact."""
    documents = place.collection("qa-mix")
    with all_cores():
        found = Material.read(
            documents,
            read_split(documents, LEARN, limit=LEARNING_QUERIES),
            read_split(documents, HELD_OUT, limit=TUNING_QUERIES),
            replace(options(place), resume=False),
        )
    return replace(found, more=[judged(place, "scifact").of_documents])


@lru_cache(maxsize=4)
def judged(place: Place, collection: str) -> Judged:
    """Return the queries that are reported, with BM25's candidates and the oracle's vectors."""
    found, limit = ranked(place, collection), REPORTED[collection][2]
    oracle, texts = qa_mix_colbert(place), [query.text for query in found.queries]
    return Judged(
        found,
        token_vectors(place, oracle, "query", texts, QUERY_TOKENS),
        token_vectors(place, oracle, "document", found.texts, limit),
    )


def learned(place: Place, name: str, seed: int, changes: Mapping[str, Any]) -> Path:
    """Return the folder of a light ranker; it is trained if it is not kept.

    Args:
        place: of the run.
        name: of the system.
        seed: of its training.
        changes: options that differ from `BASE`.
    """

    def build(path: Path) -> None:
        learn(material(place), options(place, seed=seed, **changes)).save(path)

    return place.keep(_kept(name, seed, changes), build, LIGHT)


def scores(place: Place, name: str, seed: int, changes: Mapping[str, Any]) -> Found:
    """Return a system's scores of the candidates of all collections; see `learned`.

    `ORACLE` is the oracle.
    """

    def build(path: Path) -> None:
        model, facts = None, {}
        if name != ORACLE:
            checkpoint = read_checkpoint(learned(place, name, seed, changes))
            model = network_of(checkpoint)
            facts = {
                "distillation": checkpoint.training["distillation_loss"],
                "comparison": checkpoint.training["comparison"],
                "seconds": checkpoint.training.get("seconds", 0),
            }
        arrays: dict[str, Any] = {}
        for each in REPORTED:
            found = judged(place, each)
            arrays[each] = np.concatenate(candidate_scores(found, found.ranked.candidates, model))
        with path.open("wb") as file:
            np.savez(file, facts=np.array(json.dumps(facts)), **arrays)

    with np.load(place.keep(f"{_kept(name, seed, changes)}.npz", build, LIGHT)) as file:
        found = {each: _of_queries(file[each], judged(place, each).ranked) for each in REPORTED}
        return Found(json.loads(str(file["facts"])), found)


def candidate_scores(
    found: Judged, candidates: Sequence[NDArray[np.int64]], model: LightNetwork | None
) -> list[NDArray[np.float32]]:
    """Return MaxSim of each query and its candidates; by the oracle if there is no model."""
    used = np.unique(np.concatenate(candidates))
    everything = range(len(found.ranked.queries))
    queries = (
        [found.of_queries.tokens([n])[1].astype(np.float32) for n in everything]
        if model is None
        else vectors_of(model, found.of_queries, everything)
    )
    store = _stored(found.of_documents, used, model)
    weigh = model is not None and model.light.settings.idf
    rarity = idf(frequencies(found.of_documents), len(found.of_documents)) if weigh else None
    scored = []
    for at, (query, numbers) in enumerate(zip(queries, candidates, strict=True)):
        quantised = quantise_query(query, ELEMENT)
        if rarity is not None:
            weights = rarity[found.of_queries.tokens([at])[0]]
            quantised = quantised._replace(scales=quantised.scales * weights)
        scored.append(store.scores(quantised, np.searchsorted(used, numbers)))
    return scored


def frequencies(documents: TokenVectors) -> NDArray[np.int64]:
    """Return in how many documents each token has a vector, (`VOCABULARY`,)."""
    counts = np.zeros(VOCABULARY, np.int64)
    for number in range(len(documents)):
        counts[np.unique(documents.tokens([number])[0])] += 1
    return counts


def _stored(
    texts: TokenVectors, numbers: NDArray[np.int64], model: LightNetwork | None
) -> TokenStore:
    """Return the vectors of documents as they are scored, block by block to save memory."""
    lengths, values, scales = [0], [], []
    for begin in range(0, len(numbers), BLOCK):
        block = numbers[begin : begin + BLOCK].tolist()
        if model is None:
            vectors = [texts.tokens([number])[1].astype(np.float32) for number in block]
        else:
            vectors = document_vectors(model, texts, block)
        stored = TokenStore.of(vectors, ELEMENT, vectors[0].shape[1])
        lengths += np.diff(stored.offsets).tolist()
        values.append(stored.vectors.values)
        scales.append(stored.vectors.scales)
    return TokenStore(np.cumsum(lengths), Quantised(np.concatenate(values), np.concatenate(scales)))


def _of_queries(whole: NDArray[np.float32], found: Ranked) -> list[NDArray[np.float32]]:
    return np.split(whole, np.cumsum([len(each) for each in found.candidates])[:-1])


def _kept(name: str, seed: int, changes: Mapping[str, Any]) -> str:
    """Return what a training is kept as; it names everything that it depends on but the code."""
    digest = sha256(json.dumps([BASE, sorted(changes.items())]).encode()).hexdigest()[:8]
    return f"light.{re.sub('[^a-z0-9]+', '-', name.lower())}.{seed}.{digest}"
