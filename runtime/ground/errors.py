"""Every error that ranklet raises on purpose, under one root.

    RankletError
    ├── InputError              an invalid query, document or option
    │   ├── UnknownDocumentError   an id that is not in the collection
    │   ├── NoVectorError          a ranker of vectors from outside that lacks one
    │   ├── TooManySpansError      highlights, more than the caller has room for
    │   └── ModelFolderError       a model's folder that cannot be imported
    ├── OutOfTimeError          a budget that was spent before there was any right answer
    ├── UnknownRankerError      an unknown ranker kind, ranker name or pipeline
    ├── BundleError             a bundle that is missing, damaged, hostile or of another version
    ├── BusyError               a bundle that another program writes to for too long
    ├── RemoteError             another system, such as Milvus or S3, that does not answer
    ├── MissingPackageError     a package that is not installed, with the command that installs it
    ├── CollectionError         a corpus, queries, qrels or run file that cannot be read
    ├── corpus.BuildError       a bundle that cannot be written
    │   └── export.ExportError     a model that cannot be exported
    ├── corpus.ClusterError     a cluster that does not answer, or is lost
    └── training.TrainingError  a training that cannot continue

A message says what was given, what is allowed and what to do.
"""

from collections.abc import Iterable, Mapping


class RankletError(Exception):
    """The base class of every error that ranklet raises on purpose."""


class InputError(RankletError, ValueError):
    """An invalid query, document or option."""


class UnknownDocumentError(InputError, LookupError):
    """An id that is not in the collection."""


class NoVectorError(InputError):
    """A ranker of vectors from outside lacks one; others may answer without it."""


class TooManySpansError(InputError):
    """A text has more places to highlight than the caller has room for."""


class ModelFolderError(InputError):
    """The folder of a model that cannot be imported; commands then return the status 2."""


class OutOfTimeError(RankletError):
    """A call's budget was spent before there was any right answer."""


class UnknownRankerError(RankletError, LookupError):
    """An unknown ranker kind, ranker name or pipeline."""


class BundleError(RankletError):
    """A bundle that is missing, damaged, hostile or of another version."""


class BusyError(RankletError):
    """Another program writes to a bundle, and did not end as long as somebody would wait for it."""


class MissingPackageError(RankletError, ModuleNotFoundError):
    """A package that is not installed; the message says which extra to install."""


def damaged(fault: str) -> BundleError:
    """Return the error for a fault that was discovered while ranking, with what to do."""
    return BundleError(f"{fault}. The bundle is damaged: run `ranklet verify`")


# What other systems call an option.
SYNONYMS = {
    name: own
    for own, names in {
        "k": "limit top_k topk top n size count rows hits max_results num_results num_hits",
        "where": "filter filters query_filter fq",
        "offset": "skip from start",
        "sort": "order order_by sort_by",
        "facets": "aggs aggregations",
        "group_by": "collapse distinct",
        "min_relevance": "threshold min_score score_threshold",
        "query": "q question search_query",
        "documents": "docs passages texts",
    }.items()
    for name in names.split()
}


def suggest(
    name: str, names: Iterable[str] | Mapping[str, str], most: int = 1, least: float = 0.6
) -> str:
    """Return the part of a message that says which names an unknown one may mean; "" for none.

    >>> suggest("yaer", ["day", "year"]), suggest("x", {"search": "rank"})
    (" (did you mean 'year'?)", '')
    >>> suggest("top_k", ["text", "k"]), suggest("--limit", ["--lists", "-k"])
    (" (did you mean 'k'?)", " (did you mean '-k'?)")

    Args:
        name: the unknown name.
        names: those that there are; or what is meant by each name that people may type.
        most: how many are said.
        least: how similar they must be, from 0 to 1.
    """
    from difflib import get_close_matches

    meant = names if isinstance(names, Mapping) else {each: each for each in names}
    synonym = SYNONYMS.get(name.strip("-").replace("-", "_").lower())
    near = [each for each in meant if synonym and each.strip("-") == synonym]
    near = near or get_close_matches(name[:80], meant, most, least)
    shown = dict.fromkeys(repr(meant[each][:80]) for each in near)
    return f" (did you mean {' or '.join(shown)}?)" if near else ""


class RemoteError(RankletError):
    """Another system, which stores a collection, did not answer, or refused."""


class CollectionError(RankletError):
    """A corpus, queries, qrels or run file that cannot be read; the message names file and line."""
