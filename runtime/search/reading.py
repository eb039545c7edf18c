"""Read a query, plain or with syntax, before a collection or the caller's texts are ranked."""

from collections.abc import Callable

from ranklet.runtime.arguments import check_query
from ranklet.runtime.bundles.documents import Documents
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.call.deadline import Deadline
from ranklet.runtime.call.mask import Mask
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.rankers.opening import ranker_of
from ranklet.runtime.syntax.meaning import meaning
from ranklet.runtime.syntax.query_syntax import Query
from ranklet.runtime.syntax.word_places import Postings


def read_query(
    query: str | Query,
    bundle: BundleFiles,
    *,
    own: bool = False,
    visible: Callable[[None], Mask | None] = lambda _: None,
    deadline: Deadline | None = None,
    known: Callable[[str], bool] = lambda _: False,
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

    Raises:
        InputError: as `meaning`; or the text is empty or no string, or a query with syntax comes
            with the caller's own documents, or corrects typos where documents are hidden.
    """
    analysis = bundle.analyzer.begin((deadline or Deadline()).look)
    if not isinstance(query, Query):
        check_query(query)
        return QueryContext(query, analysis)
    if own:
        raise InputError(
            "phrases, excluded words, prefixes and typos are looked up in the collection; pass the "
            "query as a text to rank documents of your own"
        )
    seen = visible(None)
    if seen is not None and query.typos:
        raise InputError(
            "a correction would reveal words of documents that are not shown here; leave typos out"
        )
    with bundle.damage_reported():
        documents = bundle.need_documents()
        postings = _postings(bundle, documents)
        meant = meaning(query, documents, seen, postings=postings, deadline=deadline, known=known)
    text, added, allowed, corrected, phrases, left_out = meant
    return QueryContext(text, analysis, added, allowed, corrected, phrases, left_out)


def _postings(bundle: BundleFiles, documents: Documents) -> Postings | None:
    """Return an index of a bundle that has every word of every document, if there is one."""
    for name, entry in bundle.manifest.rankers.items():
        if KINDS[entry.kind].every_term and bundle.settings(name).field != "wordpieces":
            lemmas = bundle.settings(name).field == "lemmas"
            term_of = documents.vocabulary.lemma_of if lemmas else None
            return Postings(ranker_of(bundle, name).postings(), term_of)
    return None
