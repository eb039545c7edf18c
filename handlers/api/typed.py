"""Read the query of a request, whose signs may have a meaning, and bound what it can cost."""

import re

from ranklet.handlers.api.errors import RequestError
from ranklet.handlers.api.fields import MOST_PARTS, MOST_WORDS
from ranklet.handlers.api.reading import Request
from ranklet.runtime.typed.query_syntax import Query, typed_query


def typed(request: Request) -> str | Query:
    """Return the `query` of a request, read as its flags `syntax` and `typos` say.

    Raises:
        RequestError: 413: the query has more parts or words than are looked up in a collection.
        InputError: the query cannot be read with `syntax`; see `Query.parse`.
    """
    query = typed_query(request["query"], syntax=request["syntax"], typos=request["typos"])
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
