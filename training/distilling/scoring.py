"""Score the candidates of training queries once, for all students to learn from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries, JudgedQuery
from ranklet.corpus.indexing.analysed import AnalysedCollection, analyse
from ranklet.corpus.indexing.ragged import packed
from ranklet.corpus.progress import progress, warn
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.errors import InputError
from ranklet.training.distilling.options import ScoreOptions
from ranklet.training.distilling.score_file import ScoreFile, checksum
from ranklet.training.distilling.teacher import ScoreEach, Teacher, teacher_scores
from ranklet.training.sampling.negatives import Numbers, relevant_numbers


def score(
    teacher: Teacher,
    collection: Collection,
    queries: JudgedQueries,
    options: ScoreOptions | None = None,
    *,
    candidates: Sequence[Bundle] = (),
    facts: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    each: ScoreEach | None = None,
) -> ScoreFile:
    """Score the candidates of queries.

    They are BM25's best documents, those of other bundles, and every relevant document of the
    collection.

    Args:
        teacher: what scores them.
        collection: the documents.
        queries: the queries; those without a relevant document in the collection are left out.
        options: how many candidates a query has.
        candidates: bundles over the same documents, which rank more candidates.
        facts: what the file also says of the scores, plain values by name.
        folder: scores are kept here every few blocks, so that an interruption loses little.
        each: scores blocks of pairs in place of the teacher, on other machines.

    Raises:
        InputError: no query has a relevant document in the collection, or a bundle's pipeline or
            documents do not fit.
    """
    options = options or ScoreOptions()
    field = options.bm25.field
    analysed = analyse(collection.documents(), [field], titles=options.titles)
    usable, relevant = relevant_numbers(list(analysed.documents.ids), queries)
    pools = _candidates(analysed, usable, relevant, candidates, options)
    offsets, numbers = packed(pools)
    used, places = np.unique(numbers, return_inverse=True)
    texts = analysed.documents.ranked_texts(used.tolist())
    rows = np.repeat(np.arange(len(usable)), np.diff(offsets)).tolist()
    pairs = [
        (usable[row].text, texts[place]) for row, place in zip(rows, places.tolist(), strict=True)
    ]
    known = {"collection": collection.name, "depth": options.depth, **(facts or {})}
    if candidates:
        known["candidates"] = [str(bundle.path) for bundle in candidates]
    return ScoreFile(
        teacher=teacher.name,
        digest=teacher.digest,
        titles=options.titles,
        facts=known,
        queries=[query.id for query in usable],
        documents=[analysed.documents.ids[number] for number in used.tolist()],
        texts=np.array(
            [checksum(each) for each in (*(query.text for query in usable), *texts)], np.uint32
        ),
        offsets=offsets,
        numbers=places.astype(np.int32),
        scores=teacher_scores(teacher, pairs, folder, each),
    )


def _candidates(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    relevant: Sequence[Numbers],
    bundles: Sequence[Bundle],
    options: ScoreOptions,
) -> list[Numbers]:
    """Return the numbers of each query's candidates, ascending."""
    number_of = {name: number for number, name in enumerate(analysed.documents.ids)}
    retriever = analysed.bm25(options.bm25)
    retrieved = []
    for query in progress(queries, "candidates of BM25"):
        context = QueryContext(query.text, analysed.analyzer.begin())
        retrieved.append(retriever.retrieve(context, options.depth).numbers.astype(np.int64))
    ranked = [_of_bundle(bundle, queries, number_of, options) for bundle in bundles]
    parts = zip(relevant, retrieved, *ranked, strict=True)
    return [np.unique(np.concatenate(of_query)) for of_query in parts]


def _of_bundle(
    bundle: Bundle,
    queries: Sequence[JudgedQuery],
    number_of: Mapping[str, int],
    options: ScoreOptions,
) -> list[Numbers]:
    """Return the numbers of each query's best documents by a bundle's pipeline.

    Raises:
        InputError: the collection has none of them.
    """
    found, lacking = [], dict[str, str]()  # the first query by document
    for query in progress(queries, f"candidates of {bundle.path.name}"):
        ranked = bundle.rank_ids(query.text, k=options.depth, pipeline=options.pipeline or None)
        known = [number_of[name] for name, _ in ranked if name in number_of]
        found.append(np.array(known, np.int64))
        for name, _ in ranked:
            if name not in number_of:
                lacking.setdefault(name, query.id)
    if lacking:
        name, query_id = next(iter(lacking.items()))
        fault = (
            f"the collection lacks {len(lacking):,} documents that {str(bundle.path)!r} ranks; the "
            f"first is {name!r}, for query {query_id!r}"
        )
        if not any(map(len, found)):
            raise InputError(f"{fault}; give a bundle of the same documents")
        warn(fault)
    return found
