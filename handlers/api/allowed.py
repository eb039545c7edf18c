"""Which fields a request may have, on every platform, and why others are refused.

The bodies of the rerank routes come from clients of Cohere, Jina and TEI. A field of theirs that
cannot change the ranking is accepted by name. One that would change it is refused with the reason.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ranklet.handlers.api.errors import RequestError

RANK = (
    *(
        "query",
        "syntax",
        "typos",
        "k",
        "offset",
        "min_score",
        "where",
        "group_by",
        "group_size",
        "pipeline",
    ),
    *("explain", "highlight", "return_documents", "documents"),
)
EXPLAIN = ("query", "id", "pipeline")
RERANK = (
    *("query", "texts", "documents", "top_n", "top_k", "pipeline", "model"),
    *("return_documents", "return_text"),
)

# Fields of existing clients on the rerank routes. Scores are always the bundle's own, and requests
# are answered in the order of their arrival.
OF_TEI = ("truncate", "truncation_direction", "raw_scores")
WITHOUT_EFFECT = ("priority", "user")

# Fields that people or clients send and that are not supported. They may be null.
_OF_OWN = "texts of your own have no metadata; send only those to rank"
_BY_ID = "the id says which document is explained"
_LENGTH = "how much of a text is read is a property of the bundle's rankers"
_FIELDS = "title and text of a document are ranked; send only what should be ranked"
UNSUPPORTED = {"filter": "the filter by metadata is called 'where'"}
_PLAIN = "a document is explained for a query in plain words"
_COLLECTION = "it is looked up in the collection, which these texts are no part of"
UNSUPPORTED_EXPLAIN = {"filter": _BY_ID, "where": _BY_ID, "syntax": _PLAIN, "typos": _PLAIN}
UNSUPPORTED_RERANK = {
    "filter": _OF_OWN,
    "where": _OF_OWN,
    "syntax": _COLLECTION,
    "typos": _COLLECTION,
    "max_chunks_per_doc": _LENGTH,
    "max_tokens_per_doc": _LENGTH,
    "truncate_prompt_tokens": _LENGTH,
    "rank_fields": _FIELDS,
}
# What Cohere does without these fields. Some clients always send it.
COHERE_DEFAULTS = {"max_chunks_per_doc": 10, "max_tokens_per_doc": 4096}

_SHOWN = 40  # characters of a field's name in a message


def check_fields(
    body: Mapping[str, Any], allowed: Sequence[str], unsupported: Mapping[str, str]
) -> None:
    """Raise RequestError (422) for the first field that a request may not have.

    Args:
        body: the request.
        allowed: the names of its fields.
        unsupported: reasons by the names of known fields that must be absent, null or Cohere's
            default.
    """
    for name, value in body.items():
        if name in allowed:
            continue
        if name not in unsupported:
            close = get_close_matches(name[:_SHOWN], allowed, 1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            fields = ", ".join(allowed)
            raise RequestError(
                422, f"unknown field {name[:_SHOWN]!r}{meant}; the fields are {fields}"
            )
        if value is not None and value != COHERE_DEFAULTS.get(name):
            raise RequestError(422, f"the field {name!r} is not supported: {unsupported[name]}")
