"""Read a query, plain or with syntax, before a collection or the caller's texts are ranked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranklet.runtime.asks import Ask, check_query, is_blank
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.query import GivenVector, QueryContext
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.pipelines.pipeline import Pipeline
from ranklet.runtime.rankers.opening import open_ranker
from ranklet.runtime.syntax.signs import unread_signs

if TYPE_CHECKING:
    from ranklet.runtime.bundles.documents import Documents
    from ranklet.runtime.metadata.columns import Metadata
    from ranklet.runtime.syntax.query_syntax import Query
    from ranklet.runtime.syntax.word_postings import Postings


def read_query(
    query: "str | Query",
    bundle: BundleFiles,
    *,
    own: bool = False,
    visible: Callable[[None], Mask | None] = lambda _: None,
    deadline: Deadline | None = None,
    known: Callable[[str], bool] = lambda _: False,
    columns: "Metadata | None" = None,
) -> QueryContext:
    """Return a query that is ready to rank by.

    Args:
        query: a text, or a query with syntax.
        bundle: the bundle that is searched.
        own: whether the caller's own documents are ranked.
        visible: returns, without a further filter, the documents that the caller may learn of,
            (documents,) bool; None for all. It is called only for a query with syntax.
        deadline: the call's deadline; None for none.
        known: see `meaning`.
        columns: the metadata of the collection; None if it is not asked for.

    Raises:
        InputError: as `meaning`; or the text is no string, or it is empty or a query with syntax
            beside the caller's own documents; or it corrects typos where documents are hidden, or
            gives a weight to a field that the bundle does not have.
    """
    analysis = bundle.analyzer.begin((deadline or Deadline()).look)
    if isinstance(query, str):
        if own:
            check_query(query)
        query = "" if is_blank(query) else query
        return QueryContext(query, analysis, signs=unread_signs(query, _columns(bundle)))
    from ranklet.runtime.syntax.query_syntax import Query  # no cost of plain queries

    if not isinstance(query, Query):
        raise InputError(f"query must be a string, not {type(query).__name__}")
    if own:
        raise InputError(
            "phrases, excluded words, prefixes, fields and typos are looked up in the collection; "
            "pass the query as a text to rank documents of your own"
        )
    from ranklet.runtime.syntax.meaning import meaning

    weights = field_weights(bundle)
    if query.fields is not None:
        check_fields(query.fields, weights)
    if query.signs is None:
        query = replace(query, signs=unread_signs(query.text, _columns(bundle)))
    query = query.among(weights)
    seen = visible(None)
    if seen is not None and query.typos:
        raise InputError(
            "a correction would reveal words of documents that are not shown here; leave typos out"
        )
    with bundle.damage_reported():
        documents = bundle.need_documents()
        postings = find_postings(bundle, documents)
        meant = meaning(
            query, documents, seen, postings=postings, deadline=deadline, known=known,
            columns=columns,
        )  # fmt: skip
    text, added, allowed, corrected, phrases, left_out = meant
    return QueryContext(
        text, analysis, added, allowed, corrected, phrases, left_out, query.fields,
        query.signs or (),
    )  # fmt: skip


def field_weights(bundle: BundleFiles) -> Mapping[str, float]:
    """Return the fields of a bundle with their weights, the text included; none without fields."""
    for name in bundle.manifest.rankers:
        if weights := _weights(bundle, name):
            return weights
    return {}


def _weights(bundle: BundleFiles, ranker: str) -> Mapping[str, float]:
    """Return the fields of a ranker with their weights; none without fields."""
    if not KINDS[bundle.manifest.rankers[ranker].kind].every_term:
        return {}
    settings = bundle.settings(ranker)
    weights: Mapping[str, float] = settings.formula.weights if settings.fields else {}
    return weights


def check_weighing(bundle: BundleFiles, pipeline: Pipeline) -> None:
    """Raise InputError if no ranker of a pipeline has fields, though the bundle has some."""
    if field_weights(bundle) and not any(_weights(bundle, each) for each in pipeline.rankers):
        raise InputError("no ranker of this pipeline has fields; name one with BM25, or leave them")


def give_vector(query: QueryContext, bundle: BundleFiles, pipeline: Pipeline, ask: Ask) -> None:
    """Give a query the vector that it was asked with, for the ranker that is meant.

    Raises:
        InputError: no ranker of the pipeline compares vectors, or several do, or this one cannot
            be compared.
    """
    names = [
        name
        for name in pipeline.rankers
        if KINDS[bundle.manifest.rankers[name].kind].index == "vectors"
    ]
    names = [name for name in names if bundle.settings(name).given] or names
    if len(names) != 1:
        many = f"{', '.join(names)} do; name a pipeline with one of them" if names else "none does"
        raise InputError(f"vector is for the ranker that compares vectors, and {many}")
    values, dimension = np.array(ask.vector or (), np.float32), bundle.settings(names[0]).dimension
    if len(values) != dimension:
        raise InputError(
            f"vector has {len(values):,} numbers, but those of {names[0]!r} have {dimension:,}; "
            "encode the query by the model that made these"
        )
    if not 0 < np.linalg.norm(values) < np.inf:
        raise InputError("vector must have finite numbers that are not all 0")
    query.give(GivenVector(names[0], values))


def check_metadata(ask: Ask, types: Mapping[str, str], remarks: Mapping[str, str]) -> None:
    """Raise InputError if what is grouped, counted or sorted by is no field that fits.

    Args:
        ask: names the fields.
        types: the types of the fields.
        remarks: see `read_where`.
    """
    if ask.group_by is not None:
        from ranklet.runtime.metadata.where import check_single

        check_single("group_by", ask.group_by, types, "would belong to several groups", "group")
    if ask.facets is not None:
        from ranklet.runtime.metadata.facets import read_facets

        read_facets(ask.facets, types, remarks)
    if ask.sort is not None:
        from ranklet.runtime.metadata.sorting import read_sort

        read_sort(ask.sort, types)


def check_fields(weights: object, known: Mapping[str, float]) -> None:
    """Raise InputError unless something is weights of known fields."""
    from ranklet.runtime.rankers.bm25 import check_weights  # a kind, which few bundles lack

    check_weights(weights)
    if not known:
        raise InputError(
            "the bundle has no fields to weigh; build it with --field NAME (docs/searching.md)"
        )
    for name in weights if isinstance(weights, Mapping) else ():
        if name not in known:
            raise InputError(f"the bundle has no field {name!r:.60}; it has {', '.join(known)}")


def _columns(bundle: BundleFiles) -> Mapping[str, str]:
    """Return what a person could mean by a word before a colon, in small letters."""

    def make() -> Mapping[str, str]:
        from ranklet.runtime.lexical.field_index import TITLE  # with what reads indexes

        return {name.casefold(): name for name in (TITLE, *bundle.manifest.metadata)}

    return bundle.once("columns", make)


def find_postings(bundle: BundleFiles, documents: "Documents") -> "Postings | None":
    """Return an index of a bundle that has every word of every document, if there is one."""
    from ranklet.runtime.syntax.word_postings import Postings

    for name, entry in bundle.manifest.rankers.items():
        if KINDS[entry.kind].every_term and bundle.settings(name).field != "wordpieces":
            lemmas = bundle.settings(name).field == "lemmas"
            term_of = documents.vocabulary.lemma_of if lemmas else None
            return Postings(open_ranker(bundle, name).postings(), term_of)
    return None
