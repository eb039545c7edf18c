"""The fields that requests have, as one table from which everything about fields is made.

The table decides which fields each route takes and how a value is checked. OpenAPI, the tools of
assistants and docs/http-fields.md are made of it. Options of a search are declared in
runtime/asks.py, and what other servers' clients send in `foreign`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from ranklet.handlers.api.field import (
    ABSENT,
    CONDITIONS,
    DOCUMENTS,
    FLAG,
    NAME,
    RECORDS,
    STRING,
    TEXTS,
    WHOLE,
    Field,
    Route,
)
from ranklet.handlers.api.foreign import FOREIGN
from ranklet.runtime.asks import ASSISTANT, FRONTS, HTTP, MAX_TOKENS, Ask, ContextAsk, keywords

_WORDS = "words or a question in plain language"
_HUGE = 1 << 31  # more than the characters of any text
_BY_ID = "the id says which document is explained, for a query in plain words"
_ASSISTED = {"unique": True}  # for assistants, who would read the same text twice
_ALSO = {
    "where": Route.COMPLETE, "boost": Route.EXPLAIN, "pipeline": Route.EXPLAIN | Route.RERANK,
}  # fmt: skip


def _options() -> Iterator[Field]:
    """Yield the options of a search, each for the routes that it is of."""
    ranked, contexts = keywords(Ask), keywords(ContextAsk)
    for name, option in {**ranked, **contexts}.items():
        fronts = FRONTS if option.fronts is None else option.fronts
        context = Route.CONTEXT if name in contexts and HTTP in fronts else Route(0)
        routes = _ALSO.get(name, Route(0))
        if name in ranked:
            routes |= Route.RANK if HTTP in fronts else Route(0)
            routes |= Route.SEARCH if ASSISTANT in fronts else Route(0)
            if name in _ASSISTED:
                yield Field.option(name, option, _ASSISTED[name], routes & Route.SEARCH)
                routes &= ~Route.SEARCH
            if getattr(Ask, name) == getattr(ContextAsk, name):
                routes, context = routes | context, Route(0)
            yield Field.option(name, option, getattr(Ask, name), routes)
        yield Field.option(name, option, getattr(ContextAsk, name), context)


FIELDS = (
    Field("query", STRING, Route.RANK | Route.SEARCH | Route.CONTEXT, most="query_characters",
          needed=True, blank=True, help=f'{_WORDS}, or "" for all documents; no '
          "operators, unless syntax is true"),
    Field("query", STRING, Route.EXPLAIN | Route.RERANK, _WORDS, None, None, "query_characters",
          needed=True),
    Field("q", STRING, Route.COMPLETE, "what was typed so far", "", None, "query_characters"),
    Field("id", STRING, Route.EXPLAIN | Route.FETCH | Route.FORGET, "the document's id", None, None,
          "query_characters", needed=True),
    Field("documents", DOCUMENTS, Route.RANK, most="documents",
          help="texts of your own to rank in place of the collection"),
    *(each for each in _options() if each.routes),
    Field("tokens", WHOLE, Route.SEARCH, least=1, most=MAX_TOKENS,
          help="return parts of documents that fit into so many tokens, each with its source, in "
          "place of documents"),
    Field("k", WHOLE, Route.COMPLETE, "maximum number of completions", 5, 0, "explained"),
    Field("highlight", FLAG, Route.RANK, "show where in a hit's text its score comes from", False),
    Field("marks", FLAG, Route.RANK, "show where words of the query stand in a hit's title and "
          "snippet", False),
    Field("return_documents", FLAG, Route.RANK, "return title, text and metadata of hits", True),
    Field("characters", WHOLE, Route.SEARCH, default=1_000, least=1, most=100_000,
          help="maximum number of characters of each text; a document that is cut has its full "
          "length as full_characters"),
    Field("characters", WHOLE, Route.FETCH, "maximum number of characters", 20_000, 1, 100_000),
    Field("start", WHOLE, Route.FETCH, "characters to leave out, so that a long text can be read "
          "on", 0, 0, _HUGE),
    Field("documents", RECORDS, Route.ADD, most="documents", needed=True,
          help="documents to add; one with a known id replaces the old one"),
    Field("skip_bad", FLAG, Route.ADD, "leave out documents that cannot be used", False),
    Field("ids", TEXTS, Route.DELETE, "ids of documents to delete", None, None, "documents"),
    Field("where", CONDITIONS, Route.DELETE,
          "delete the documents that a filter by metadata allows"),
    Field("text", STRING, Route.REMEMBER, "what to remember", None, None, "characters",
          needed=True),
    Field("title", STRING, Route.REMEMBER, "what it is about, in a few words", "", None, NAME),
    Field("id", STRING, Route.REMEMBER, most=NAME,
          help="an id by which it can be replaced or forgotten; without one it gets one"),
    *FOREIGN,
    # What people send and what is not supported.
    Field("at", ABSENT, Route.RANK | Route.SEARCH | Route.EXPLAIN,
          "earlier versions have what was deleted since; rank one by `ranklet rank --at`"),
    Field("filter", ABSENT, Route.RANK | Route.SEARCH | Route.CONTEXT,
          "the filter by metadata is called 'where'"),
    *(Field(name, ABSENT, Route.EXPLAIN, _BY_ID, default)
      for name, default in (("filter", None), ("where", None), ("fields", None),
                            ("syntax", False), ("typos", False))),
)  # fmt: skip


@cache
def list_fields(route: Route) -> Mapping[str, Field]:
    """Return the fields that a route knows, by name, in the order of the table."""
    return MappingProxyType({each.name: each for each in FIELDS if route in each.routes})
