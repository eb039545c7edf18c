"""Light vectors of qa-mix's ColBERT: their material, their trainings and their scores, all kept."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.built.late_interaction import COLBERT, qa_mix_colbert
from benchmarks.built.trained import HELD_OUT, LEARN, TUNING_QUERIES, all_cores, tuned_bm25
from benchmarks.harness.place import Place
from ranklet.runtime.dense.maxsim import Quantised, TokenStore, quantise_query
from ranklet.runtime.onnx.tokens import token_ids
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.colbert.tokens import Role, TokenLayout
from ranklet.runtime.text.ranked import ranked_text
from ranklet.training.data.splits import JudgedQuery, read_split
from ranklet.training.indexing.analysed import analyse, open_bm25
from ranklet.training.rankers.srm.material import Material
from ranklet.training.rankers.srm.network import LightNetwork
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import TokenVectors, oracle_vectors
from ranklet.training.rankers.srm.training import document_vectors, learn, network_of, vectors_of
from ranklet.training.sampling.ragged import packed
from ranklet.training.sampling.text_pairs import Tokens

LEARNING_QUERIES = 15_000  # of qa-mix's train
DEPTH = 100  # candidates
BLOCK = 2048  # documents whose vectors are in memory in 32 bits at a time
ELEMENT = "int16"  # how documents are stored while candidates are scored
# Collection: split, queries, and tokens of a document.
REPORTED = {"qa-mix": ("dev", 1000, 128), "scifact": ("test", 300, 256)}
LIGHT = (*COLBERT, "training/rankers/srm", "benchmarks/built/light.py")
BASE: dict[str, Any] = {
    "batch": 32, "steps": 80, "evaluations": 1, "distil_texts": 0, "distil_steps": 150,
    "distil_batch": 32,
}  # fmt: skip
ORACLE = "oracle"


class Judged(NamedTuple):
    """The queries of a collection, and what is reranked for them.

    Attributes:
        ids: of the collection's documents, in their order.
        queries: with their relevant documents.
        candidates: documents of each query, (queries, `DEPTH`) int64, best first; -1 where BM25
            found fewer.
        bm25: BM25's scores of the candidates, (queries, `DEPTH`) float32.
        of_queries: the oracle's vectors of the queries.
        of_documents: the oracle's vectors of all documents of the collection.
    """

    ids: list[str]
    queries: list[JudgedQuery]
    candidates: NDArray[np.int64]
    bm25: NDArray[np.float32]
    of_queries: TokenVectors
    of_documents: TokenVectors


def options(place: Place, **changes: Any) -> Options:
    """Return the options of a training that differs from `BASE` in some values."""
    return Options(
        **{"oracle": qa_mix_colbert(place), "folder": _folder(place), **BASE, **changes},
        bm25=tuned_bm25(place, "qa-mix"),
    )


def _folder(place: Place) -> Path:
    return place.work / "light.vectors"


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
        return replace(found, more=[_documents(place, found, "scifact")])


@lru_cache(maxsize=4)
def judged(place: Place, collection: str) -> Judged:
    """Return the queries that are reported, with BM25's candidates and the oracle's vectors."""
    split, limit, _ = REPORTED[collection]
    documents, shared = place.collection(collection), material(place)
    queries = read_split(documents, split, limit=limit)
    bm25 = tuned_bm25(place, collection)

    def build(path: Path) -> None:
        analysed = analyse(documents.documents(), [bm25.field])
        retriever = open_bm25(bm25, analysed.postings(bm25.field))
        numbers = np.full((len(queries), DEPTH), -1, np.int64)
        scores = np.zeros(numbers.shape, np.float32)
        for at, query in enumerate(queries):
            found = retriever.retrieve(QueryContext(query.text, analysed.analyzer.begin()), DEPTH)
            numbers[at, : len(found[0])] = found[0]
            scores[at, : len(found[0])] = found[1]
        with path.open("wb") as file:
            np.savez(file, numbers=numbers, scores=scores)

    with np.load(place.keep(f"light.{collection}.candidates.npz", build, COLBERT)) as kept:
        numbers, scores = kept["numbers"], kept["scores"]
    with all_cores():
        return Judged(
            [document.id for document in documents.documents()],
            queries,
            numbers,
            scores,
            _encoded(place, shared, "query", [query.text for query in queries], 32),
            _documents(place, shared, collection),
        )


def _documents(place: Place, shared: Material, collection: str) -> TokenVectors:
    if collection == "qa-mix":
        return shared.documents
    texts = [ranked_text(d.title, d.text, True) for d in place.collection(collection).documents()]
    return _encoded(place, shared, "document", texts, REPORTED[collection][2])


def _encoded(
    place: Place, shared: Material, role: Role, texts: list[str], limit: int
) -> TokenVectors:
    settings = replace(shared.oracle.settings, max_document_tokens=limit, max_query_tokens=limit)
    tokenizer = shared.oracle.need_tokenizer()
    layout = TokenLayout(settings, tokenizer)
    ids, _ = token_ids(tokenizer, texts, layout.limit(role))
    tokens = Tokens(*packed([np.array(row, np.int64) for row in ids]))
    return oracle_vectors(shared.network, layout, role, tokens, _folder(place), "oracle")


def scores(place: Place, name: str, seed: int, changes: Mapping[str, Any]) -> "Found":
    """Return a system's scores of the candidates of all collections; trained if it is not kept.

    Args:
        place: of the run.
        name: of the system; `ORACLE` is the oracle.
        seed: of its training.
        changes: options that differ from `BASE`.
    """

    def build(path: Path) -> None:
        shared = material(place)
        model, facts = None, {}
        if name != ORACLE:
            checkpoint = learn(shared, options(place, seed=seed, **changes))
            model = network_of(checkpoint)
            facts = {
                "distillation": checkpoint.training["distillation_loss"],
                "comparison": checkpoint.training["comparison"],
                "seconds": checkpoint.training.get("seconds", 0),
            }
        arrays: dict[str, Any] = {
            each: candidate_scores(judged(place, each), model) for each in REPORTED
        }
        with path.open("wb") as file:
            np.savez(file, facts=np.array(json.dumps(facts)), **arrays)

    digest = json.dumps([BASE, sorted(changes.items())])
    kept = place.keep(f"light.{name}.{seed}.{_short(digest)}.npz", build, LIGHT)
    with np.load(kept) as file:
        return Found(json.loads(str(file["facts"])), {each: file[each] for each in REPORTED})


class Found(NamedTuple):
    """What is kept of a system."""

    facts: dict[str, Any]
    scores: dict[str, NDArray[np.float32]]  # of each collection, (queries, `DEPTH`)


def candidate_scores(found: Judged, model: LightNetwork | None) -> NDArray[np.float32]:
    """Return MaxSim with each candidate, (queries, `DEPTH`); by the oracle if there is no model."""
    used = np.unique(found.candidates[found.candidates >= 0])
    everything = range(len(found.queries))
    queries = (
        [found.of_queries.tokens([n])[1].astype(np.float32) for n in everything]
        if model is None
        else vectors_of(model, found.of_queries, everything)
    )
    store = _stored(found.of_documents, used, model)
    weigh = model is not None and model.light.settings.idf
    rarity = idf(found.of_documents) if weigh else None
    scored = np.full(found.candidates.shape, -np.inf, np.float32)
    for at, (row, query, numbers) in enumerate(zip(scored, queries, found.candidates, strict=True)):
        present = numbers >= 0
        places = np.searchsorted(used, numbers[present])
        quantised = quantise_query(query, ELEMENT)
        if rarity is not None:
            weights = rarity[found.of_queries.tokens([at])[0]]
            quantised = quantised._replace(scales=quantised.scales * weights)
        row[present] = store.scores(quantised, places)
    return scored


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


def idf(documents: TokenVectors) -> NDArray[np.float32]:
    """Return ln(1 + (N − df + ½) / (df + ½)) of each token, (vocabulary,) float32."""
    counts = np.zeros(1 << 16)
    for number in range(len(documents)):
        counts[np.unique(documents.tokens([number])[0])] += 1
    found = np.log1p((len(documents) - counts + 0.5) / (counts + 0.5))
    return np.asarray(found, np.float32)


def _short(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()[:8]
