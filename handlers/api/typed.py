"""Read the query of a request, whose signs may have a meaning, and bound what it can cost."""

import re

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.fields import Fields
from ranklet.handlers.api.limits import Limits
from ranklet.runtime.typed.query_syntax import Query, typed_query

MOST_PARTS = 20  # phrases, excluded words and prefixes, which are looked up in the collection
MOST_WORDS = 50  # that are looked up for typos, in some hundred spellings if they are unknown


def typed(fields: Fields, limits: Limits) -> str | Query:
    """Return the `query` of a request, read as its flags `syntax` and `typos` say.

    Raises:
        RequestError: 422: a field is missing or of a wrong type; 413: the query is too long, or has
            more parts or words than are looked up in a collection.
        InputError: the query cannot be read with `syntax`; see `Query.parse`.
    """
    text = fields.text("query", limits.query_characters)
    query = typed_query(text, syntax=fields.flag("syntax"), typos=fields.flag("typos"))
    if isinstance(query, Query):
        if query.parts > MOST_PARTS:
            raise RequestError(
                413,
                f"the query has {query.parts:,} phrases, excluded words and prefixes; at most "
                f"{MOST_PARTS} are allowed",
            )
        corrected = (query.text, *query.excluded, *query.excluded_phrases)
        words = len(re.findall(r"\w+", " ".join(corrected)))
        if query.typos and words > MOST_WORDS:
            raise RequestError(
                413,
                f"the query has {words:,} words; at most {MOST_WORDS} are corrected, so shorten it "
                "or leave 'typos' out",
            )
    return query
