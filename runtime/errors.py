"""Every error that ranklet raises on purpose, under one root.

    RankletError
    ├── InputError           a query, a document or an option that cannot be used
    │   └── UnknownDocumentError  an id that the collection does not have
    ├── UnknownRankerError   a ranker kind, a ranker name or a pipeline that is not there
    ├── BundleError          a bundle that is missing, damaged, hostile or of another version
    ├── CollectionError      a corpus, queries, qrels or run file that cannot be read
    ├── training.TrainingError  a training that cannot go on
    └── export.ExportError   a bundle that cannot be written

A message says what was given, what is allowed and what to do.
"""


class RankletError(Exception):
    """The root: ``except RankletError`` catches all that ranklet raises on purpose."""


class InputError(RankletError, ValueError):
    """A query, a document or an option that cannot be used."""


class UnknownDocumentError(InputError, LookupError):
    """An id that the collection does not have."""


class UnknownRankerError(RankletError, LookupError):
    """A ranker kind, a ranker name or a pipeline that is not there."""


class BundleError(RankletError):
    """A bundle that is missing, damaged, hostile or of another version."""


class CollectionError(RankletError):
    """A corpus, queries, qrels or run file that cannot be read; names file and line."""
