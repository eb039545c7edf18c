"""Rank a collection that Milvus stores, by the models of a bundle that need not have it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np

from ranklet.runtime.arguments import check_budget, check_query
from ranklet.runtime.errors import InputError, RemoteError
from ranklet.runtime.hits import Hit, Ranking, Timing
from ranklet.runtime.lexical.sparse_store import SparseQuery
from ranklet.runtime.metadata.where import read_where
from ranklet.runtime.pipeline.candidates import text_candidates
from ranklet.runtime.pipeline.deadline import Deadline
from ranklet.runtime.pipeline.execution import Execution
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.pipeline.resolve import PipelineLike, resolve_pipeline
from ranklet.runtime.pipeline.stages import Pipeline, Retrieve
from ranklet.runtime.rankers.protocol import Retriever
from ranklet.runtime.remote.connection import SECONDS, address, connect, properties, remote_errors
from ranklet.runtime.remote.expressions import expression
from ranklet.runtime.remote.names import (
    ABOUT,
    DOCUMENT,
    KEY,
    METADATA,
    PASSAGE,
    STORED,
    TEXT,
    TITLE,
    VERSION,
    digests,
    restored,
    same,
)
from ranklet.runtime.search.selection import Selection
from ranklet.runtime.search.visible import Where
from ranklet.runtime.storage.bundle_files import BundleFiles

MOST = 16_384  # entities that Milvus returns for a search


class _Entity(NamedTuple):
    """What Milvus returned of a passage, or of a document that is whole."""

    key: str
    document: str
    passage: int | None
    title: str
    text: str
    metadata: Mapping[str, Any]


class MilvusSearch:
    """A collection in Milvus, written by `ranklet publish`, and the bundle that ranks it.

    The retrieving stages of a pipeline are searches in Milvus. All other stages run here, on the
    texts that Milvus returns. The bundle may be one without documents. BM25 and Conformer-Kernels
    number the words of a collection, so only the bundle that was published, or one with the same
    vocabulary, has vectors of queries for them.

    Args:
        bundle: path of the bundle.
        uri: ``milvus://HOST:PORT/COLLECTION``, ``https://HOST:PORT``, or a file of Milvus Lite.
        collection: its name, unless the address has it.
        token: what Milvus asks for, such as ``user:password``.
        device: where models run; see `load`.
        seconds: for a call of Milvus without a budget.

    Attributes:
        metadata: the type of each field of the metadata.

    Raises:
        InputError: the address is none, or the collection does not belong to the bundle.
        RemoteError: Milvus does not answer, or has no such collection.
        MissingPackageError: the extra [milvus] is not installed.
        BundleError: the bundle cannot be read.
    """

    def __init__(
        self,
        bundle: str | Path,
        uri: str,
        collection: str = "",
        *,
        token: str = "",
        device: str = "auto",
        seconds: float = SECONDS,
    ) -> None:
        self._files = BundleFiles(bundle, device=device)
        self._uri, named = address(uri)
        self._collection = collection or named
        if not self._collection:
            raise InputError("name the collection: collection=NAME, or milvus://HOST:PORT/NAME")
        self._seconds, self._token = seconds, token
        self._client = connect(self._uri, token, seconds)
        with remote_errors(self._uri):
            found = properties(self._client, self._collection).get(ABOUT)
        about = _read_about(found, self._collection)
        self.metadata: Mapping[str, str] = about["metadata"]
        self._titles: bool = about["titles"]
        self._fields = self._usable(about)

    def close(self) -> None:
        """End the connection; no ranking is possible afterwards."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rank(
        self,
        query: str,
        *,
        k: int = 10,
        where: Where | None = None,
        pipeline: PipelineLike = None,
        explain: bool = False,
        budget_ms: float | None = None,
        offset: int = 0,
        min_score: float | None = None,
    ) -> Ranking:
        """Rank the collection for a query, as `Bundle.rank` does.

        Args:
            query: the query's text, not empty.
            k: maximum number of hits.
            where: a filter by metadata, which Milvus applies while it searches.
            pipeline: a pipeline's name, a `Pipeline` or its stages; None is the bundle's default.
            explain: whether to explain the score of each hit. The score that retrieved a text is
                explained by the text itself, as far as the bundle can score it.
            budget_ms: milliseconds after which no further stage begins. A search in Milvus that
                takes longer is an error.
            offset: so many of the best hits are left out.
            min_score: hits with a lower score are left out.

        Raises:
            InputError: an argument cannot be used, or the pipeline retrieves by a ranker that the
                collection has no vectors of.
            RemoteError: Milvus did not answer, or not in time.
            UnknownRankerError: the pipeline is unknown.
            BundleError: the bundle is damaged.
        """
        check_query(query)
        selection = Selection(k=k, offset=offset, min_score=min_score)
        check_budget(budget_ms)
        deadline = Deadline(budget_ms)
        stages = resolve_pipeline(pipeline, self._files.manifest)
        self._check(stages)
        types = self.metadata
        wanted = "" if where is None else expression(read_where(where, types), types)
        documents = min(selection.reach, stages.depth)
        context = QueryContext(query, self._files.analyzer.begin())
        while True:
            begin = perf_counter()
            lists = {
                each.ranker: self._retrieved(each, context, wanted, deadline)
                for each in _retrieving(stages)
            }
            spent = (perf_counter() - begin) * 1e3
            ranking, ranked = self._ranked(context, stages, lists, selection, explain, deadline)
            full = any(len(lists[each.ranker]) >= each.k for each in _retrieving(stages))
            longer = stages.deeper(4)
            if ranked >= documents or not full or deadline.passed or _longest(longer) > MOST:
                break
            stages = longer  # few documents have all of the passages
        return replace(ranking, timings=(Timing("search Milvus", spent), *ranking.timings))

    def _usable(self, about: Mapping[str, Any]) -> dict[str, str]:
        """Return the field of each ranker whose vectors fit the bundle.

        Raises:
            InputError: there is none.
        """
        own = self._files.manifest.rankers
        found = {
            name: field
            for name, field in about["fields"].items()
            if name in own and same(about["digests"].get(name, {}), digests(self._files, name))
        }
        if not found:
            raise InputError(
                f"the collection {self._collection!r} does not belong to this bundle: its vectors "
                f"are of {', '.join(about['fields']) or 'no rankers'}, and the bundle has other "
                f"models or another vocabulary ({', '.join(own) or 'no rankers'}); publish the "
                "collection again, or load the bundle that it was published from"
            )
        return found

    def _check(self, stages: Pipeline) -> None:
        for stage in _retrieving(stages):
            if stage.ranker not in self._fields:
                raise InputError(
                    f"the collection {self._collection!r} has no vectors of the ranker "
                    f"{stage.ranker!r} of this bundle; retrieve by {', '.join(self._fields)}"
                )
            if stage.k > MOST:
                raise InputError(f"Milvus retrieves up to {MOST:,} entities; give k ≤ {MOST:,}")

    def _retrieved(
        self, stage: Retrieve, query: QueryContext, wanted: str, deadline: Deadline
    ) -> list[tuple[_Entity, float]]:
        """Return what a search in Milvus finds, best first, with scores."""
        ranker = self._files.ranker(stage.ranker)
        vector = ranker.query_vector(query) if isinstance(ranker, Retriever) else None
        if vector is None:
            raise InputError(f"the ranker {stage.ranker!r} has no vector of a query")
        if isinstance(vector, SparseQuery):
            pairs = zip(vector.terms.tolist(), vector.weights.tolist(), strict=True)
            data: Any = {term: weight for term, weight in pairs if weight > 0}
            if not data:
                return []
        else:
            data = vector.tolist()
        left = deadline.left_ms()
        seconds = self._seconds if left is None else min(self._seconds, max(left, 1.0) / 1e3)
        with remote_errors(self._uri):
            (answer,) = self._client.search(
                self._collection,
                data=[data],
                anns_field=self._fields[stage.ranker],
                limit=stage.k,
                filter=wanted,
                output_fields=list(STORED),
                timeout=seconds,
            )
        return [(_entity(each["entity"]), float(each["distance"])) for each in answer]

    def _ranked(
        self,
        query: QueryContext,
        stages: Pipeline,
        lists: Mapping[str, Sequence[tuple[_Entity, float]]],
        selection: Selection,
        explain: bool,
        deadline: Deadline,
    ) -> tuple[Ranking, int]:
        """Run the other stages on what was retrieved, and count the documents up to the last."""
        entities = {each.key: each for found in lists.values() for each, _ in found}
        place = {key: at for at, key in enumerate(entities)}
        texts = list(entities.values())
        known = {name: np.full(len(texts), np.nan, np.float32) for name in lists}
        for name, found in lists.items():
            for each, score in found:
                known[name][place[each.key]] = score
        given = text_candidates(
            [(each.key, each.title, each.text) for each in texts], query.analysis, self._titles
        )
        execution = Execution(stages, self._files.ranker, None, query, given, deadline, known=known)
        with self._files.damage_reported():
            execution.run()
        top, positions, scores = execution.top(len(execution.candidates))
        ordered = [texts[at] for at in _places(top)]
        best = _best_passages(ordered, selection.reach)
        hits = []
        for at in (best[rank] for rank in selection.chosen(scores[best], None).tolist()):
            explanation = execution.explain(int(positions[at])) if explain else None
            number = place[ordered[at].key]
            hits.append(self._hit(ordered[at], float(scores[at]), explanation, number))
        ranking = Ranking(
            tuple(hits),
            query.text,
            tuple(execution.timings),
            execution.providers(),
            execution.truncated(),
            execution.budget_spent,
            tuple(execution.left_out),
        )
        return ranking, len(best)

    def _hit(self, entity: _Entity, score: float, explanation: Any, place: int) -> Hit:
        return Hit(
            entity.document, score, entity.title, entity.text, place, explanation, entity.passage,
            restored(entity.metadata, self.metadata),
        )  # fmt: skip


def _read_about(raw: object, collection: str) -> dict[str, Any]:
    """Return what a collection says of itself.

    Raises:
        InputError: `ranklet publish` has not written it, or another version has.
    """
    try:
        about = json.loads(raw) if isinstance(raw, str) else None
    except ValueError:
        about = None
    if not isinstance(about, dict) or not isinstance(about.get("fields"), dict):
        raise InputError(
            f"the collection {collection!r} was not written by `ranklet publish`; publish a bundle "
            "under another name"
        )
    if about.get("version") != VERSION:
        raise InputError(
            f"the collection {collection!r} has version {about.get('version')!r} of what ranklet "
            f"publishes, and this ranklet reads {VERSION}; publish it again"
        )
    return about


def _entity(raw: Mapping[str, Any]) -> _Entity:
    try:
        metadata = raw[METADATA]
        found = json.loads(metadata) if isinstance(metadata, str | bytes) else metadata
        return _Entity(
            str(raw[KEY]), str(raw[DOCUMENT]), raw.get(PASSAGE), str(raw[TITLE]), str(raw[TEXT]),
            dict(found or {}),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise RemoteError(f"Milvus returned what ranklet did not write: {error}") from error


def _places(found: Any) -> Sequence[int]:
    places: Sequence[int] = found.places
    return places


def _best_passages(ordered: Sequence[_Entity], k: int) -> list[int]:
    """Return the places of the first passage of each of k documents."""
    chosen: dict[str, int] = {}
    for at, each in enumerate(ordered):
        if len(chosen) == k:
            break
        chosen.setdefault(each.document, at)
    return list(chosen.values())


def _retrieving(stages: Pipeline) -> list[Retrieve]:
    return [each for each in stages.stages if isinstance(each, Retrieve)]


def _longest(stages: Pipeline) -> int:
    return max(each.k for each in _retrieving(stages))
