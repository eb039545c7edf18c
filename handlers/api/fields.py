"""The fields that requests have, as one table from which everything about fields is made.

The table decides which fields each route takes and how a value is checked. OpenAPI, the
tools of assistants, the options of `ranklet rank` and the table in docs/serving.md are made of it.
A new parameter of `Bundle.rank` needs one row here, and nothing else.

The bodies of the rerank routes come from clients of Cohere, Jina and TEI. A field of theirs that
cannot change the ranking is accepted. One that would change it is refused with the reason.
"""

from collections.abc import Mapping
from enum import Flag, auto
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from ranklet.handlers.api.limits import Limits


class Route(Flag):
    """Where a request comes from."""

    RANK = auto()  # POST /rank
    EXPLAIN = auto()  # POST /explain, and the tool ``explain`` of assistants
    RERANK = auto()  # POST /rerank, /v1/rerank and /v2/rerank
    EMBEDDINGS = auto()  # POST /v1/embeddings, as OpenAI's
    EMBED = auto()  # POST /embed and /embed_sparse, as TEI's
    SEARCH = auto()  # the tool ``search`` of assistants
    FETCH = auto()  # the tool ``fetch`` of assistants
    ADD = auto()  # POST /documents
    DELETE = auto()  # POST /documents/delete
    REMEMBER = auto()  # the tool ``remember`` of assistants
    FORGET = auto()  # the tool ``forget`` of assistants
    COMMAND = auto()  # `ranklet rank`
    COMPLETE = auto()  # GET and POST /complete
    CONTEXT = auto()  # POST /context, and `ranklet context`


class Type(NamedTuple):
    """The type of a value: its name in JSON Schema, in a message, and in Python."""

    json: str
    wanted: str
    python: tuple[type, ...]


STRING = Type("string", "a string", (str,))
FLAG = Type("boolean", "true or false", (bool,))
WHOLE = Type("integer", "a whole number", (int,))
NUMBER = Type("number", "a number", (int, float))
OBJECT = Type("object", "an object", (dict,))
DOCUMENTS = Type("array", "a list of at least one document", (list,))
TEXTS = Type("", "a text, or a list of texts", (str, list))
RECORDS = Type("array", "a list of at least one object with an id and a text", (list,))
FACETS = Type("", "a list of fields, or an object of options by field", (list, dict))
NAMES = Type("array", "a list of at least one name", (list,))
ANYTHING = Type("", "anything", ())  # without effect
ABSENT = Type("", "absent", ())  # not supported; the help is the reason, the default is accepted


class Field(NamedTuple):
    """A field of requests.

    Attributes:
        name: as it is sent.
        type: of its value.
        routes: the requests that may have it.
        help: what it does, as the end of a sentence; for ABSENT the reason that it is refused.
        default: what counts if it is missing or null.
        least: the smallest number.
        most: the largest number, or the most characters or documents; the name of a limit.
        needed: whether it must be given, with at least one word.
        values: the only ones.
    """

    name: str
    type: Type
    routes: Route
    help: str
    default: Any = None
    least: float | None = None
    most: float | str | None = None
    needed: bool = False
    values: tuple[str, ...] = ()

    @property
    def filled(self) -> bool:
        """Whether a list must have an entry, as in Python."""
        return self.needed or self.type is NAMES or Route.RERANK in self.routes

    @property
    def sentence(self) -> str:
        """The help as a sentence."""
        return f"{self.help[:1].upper()}{self.help[1:]}."

    def largest(self, limits: Limits) -> Any:
        """Return `most` as a number, None if there is none."""
        return getattr(limits, self.most) if isinstance(self.most, str) else self.most

    def otherwise(self, limits: Limits) -> Any:
        """Return the default, which no limit is below."""
        bounded = self.type is WHOLE and self.default is not None
        return min(self.default, self.largest(limits)) if bounded else self.default

    def schema(self, limits: Limits) -> dict[str, Any]:
        """Return the JSON Schema of a value that is not null."""
        if self.type is ANYTHING:
            return {"description": self.sentence}
        if self.type is TEXTS:
            many = {"type": "array", "minItems": int(self.filled)}
            many["maxItems"] = self.largest(limits)
            one = {"type": "string"}
            return {"anyOf": [one, {**many, "items": one}], "description": self.sentence}
        if self.type is FACETS:
            return {**_facets(limits), "description": self.sentence}
        if self.type is ABSENT:
            also = [] if self.default is None else [self.default]
            return {"enum": [None, *also], "description": f"Not supported: {self.help}."}
        bounds = {"minimum": self.least, "maximum": self.largest(limits)}
        if self.type is STRING:
            bounds = {"maxLength": self.largest(limits), "enum": list(self.values) or None}
            bounds["pattern"] = r"\S" if self.needed else None
        elif self.type is DOCUMENTS:
            bounds = {"minItems": int(self.filled), "maxItems": self.largest(limits)}
            bounds["items"] = {"$ref": "#/components/schemas/Document"}
        elif self.type is NAMES:
            bounds = {"minItems": 1, "maxItems": self.largest(limits), "items": {"type": "string"}}
        elif self.type is RECORDS:
            bounds = {"minItems": 1, "maxItems": self.largest(limits)}
            bounds["items"] = {"$ref": "#/components/schemas/Record"}
        more = {"default": self.otherwise(limits), "description": self.sentence}
        known = {key: value for key, value in (bounds | more).items() if value is not None}
        return {"type": self.type.json, **known}


def _facets(limits: Limits) -> dict[str, Any]:
    """Return the JSON Schema of facets."""
    pair = {"type": "array", "items": {}, "minItems": 2, "maxItems": 2}
    most = limits.facet_values
    known = {
        "top": {"type": ["integer", "null"], "minimum": 1, "maximum": most},
        "ranges": {"type": ["array", "null"], "items": pair, "minItems": 1, "maxItems": most},
        "missing": {"type": ["boolean", "null"]},
    }
    options = {"type": ["object", "null"], "properties": known, "additionalProperties": False}
    names = {"type": "array", "items": {"type": "string"}, "maxItems": limits.facets}
    by_name = {"type": "object", "additionalProperties": options, "maxProperties": limits.facets}
    return {"anyOf": [names, by_name]}


MOST_PARTS = 20  # phrases, excluded words and prefixes, which are looked up in the collection
MOST_TOKENS = 100_000  # that one request asks for
MOST_KEYS = 8  # that one request sorts by
MOST_WORDS = 50  # that are looked up for typos, in some hundred spellings if they are unknown

_WORDS = "words or a question in plain language"
_NAME = 1_000  # characters of a name
_HUGE = 1 << 31  # more than the texts of any request
_LARGEST = 1e38  # of scores, which have 32 bits
_RANKED = Route.RANK | Route.SEARCH | Route.COMMAND
_FOUND = _RANKED | Route.CONTEXT
_ALL = _FOUND | Route.EXPLAIN | Route.RERANK
_GROUPED = Route.RANK | Route.COMMAND
_SCORED = _GROUPED | Route.CONTEXT

_OF_OWN = "texts of your own have no metadata; send only those to rank"
_BY_ID = "the id says which document is explained"
_PLAIN = "a document is explained for a query in plain words"
_COLLECTION = "it is looked up in the collection, which these texts are no part of"
_LENGTH = "how much of a text is read is a property of the bundle's rankers"

FIELDS = (
    Field("query", STRING, Route.RANK | Route.SEARCH | Route.CONTEXT, most="query_characters",
          needed=True, help=f"{_WORDS}; there are no operators, unless syntax is true"),
    Field("query", STRING, Route.EXPLAIN | Route.RERANK, _WORDS, None, None, "query_characters",
          needed=True),
    Field("q", STRING, Route.COMPLETE, "what was typed so far", "", None, "query_characters"),
    Field("id", STRING, Route.EXPLAIN | Route.FETCH | Route.FORGET, "the document's id", None, None,
          "query_characters", needed=True),
    Field("tokens", WHOLE, Route.CONTEXT, default=1_000, least=1, most=MOST_TOKENS,
          help="the most tokens of the whole text by the bundle's tokenizer, or else the most "
          "words (docs/answers.md)"),
    Field("tokens", WHOLE, Route.SEARCH, least=1, most=MOST_TOKENS,
          help="return parts of documents that fit into so many tokens, each with its source, in "
          "place of documents"),
    Field("syntax", FLAG, _FOUND, default=False,
          help='read "exact phrase", -excluded, prefi*, +required, OR and field:word in the query '
          f"(a server: at most {MOST_PARTS})"),
    Field("typos", FLAG, _FOUND, default=False,
          help="replace unknown words by ones that differ in a letter or two (a server: in queries "
          f"of at most {MOST_WORDS} words)"),
    Field("synonyms", FLAG, _FOUND, default=True,
          help="count synonyms by the file beside the bundle (docs/searching.md)"),
    Field("k", WHOLE, _GROUPED, "number of hits, or of groups", 10, 0, "k"),
    Field("k", WHOLE, Route.COMPLETE, "maximum number of completions", 5, 0, "explained"),
    Field("k", WHOLE, Route.SEARCH, "maximum number of documents", 10, 1, "explained"),
    Field("offset", WHOLE, _RANKED, "best hits to leave out, so that pages follow each other",
          0, 0, "k"),
    Field("min_score", NUMBER, _SCORED, "leave out hits with a lower score", None, -_LARGEST,
          _LARGEST),
    Field("relevance", FLAG, _SCORED, "say how likely each hit answers the query", False),
    Field("min_relevance", NUMBER, _FOUND, "leave out hits that are less likely to answer the "
          "query (docs/answers.md)", None, 0, 1),
    Field("where", OBJECT, _FOUND | Route.COMPLETE,
          'filter by metadata, such as {"year": {">=": 2020}} (docs/filtering.md)'),
    Field("boost", OBJECT, _FOUND | Route.EXPLAIN,
          'what metadata add to the scores, such as {"date": {"half_life": "30d", "weight": 0.2}} '
          "(docs/searching.md)"),
    Field("pin", TEXTS, _RANKED, most="documents",
          help="ids of documents that come first, in this order, whether they match or not"),
    Field("hide", TEXTS, _FOUND, "ids of documents that are left out", most="documents"),
    Field("unique", FLAG, _RANKED, "leave out near duplicates of better hits", False),
    Field("unique", FLAG, Route.CONTEXT, "leave out near duplicates of better passages", True),
    Field("passages", WHOLE, _FOUND, least=1, most="explained",
          help="how many passages of its document a hit has, or all of a document together"),
    Field("context", STRING, _FOUND, values=("neighbours", "section"),
          help="what is around each passage: neighbours, or the section that it stands in"),
    Field("diversity", NUMBER, _FOUND, "how much hits should differ from better ones", None, 0, 1),
    Field("group_by", STRING, _GROUPED, "a field of the metadata, whose equal values make groups",
          None, None, _NAME),
    Field("group_size", WHOLE, _GROUPED, "hits of each group", 1, 1, "k"),
    Field("facets", FACETS, _RANKED, most="facets",
          help='fields whose values are counted in all matches, such as ["year"] or '
          '{"year": {"ranges": [[2000, 2010]]}}'),
    Field("sort", NAMES, _RANKED, most=MOST_KEYS,
          help='fields to order all matches by, such as ["-date", "score"]'),
    Field("fields", OBJECT, _FOUND,
          'weights of fields, such as {"title": 3}, in place of those of the bundle '
          "(docs/searching.md)"),
    Field("pipeline", STRING, _ALL, "a pipeline's name; the default is the bundle's default", None,
          None, _NAME),
    Field("explain", FLAG, _RANKED, "explain every score", False),
    Field("highlight", FLAG, Route.RANK, "show where in a hit's text its score comes from", False),
    Field("marks", FLAG, Route.RANK, "show where words of the query stand in a hit's title and "
          "snippet", False),
    Field("budget_ms", NUMBER, Route.COMMAND,
          "skip stages that would begin after this many milliseconds"),
    Field("characters", WHOLE, Route.SEARCH, default=1_000, least=1, most=100_000,
          help="maximum number of characters of each text; a document that is cut has its full "
          "length as full_characters"),
    Field("characters", WHOLE, Route.FETCH, "maximum number of characters", 20_000, 1, 100_000),
    Field("start", WHOLE, Route.FETCH, "characters to leave out, so that a long text can be read "
          "on", 0, 0, _HUGE),
    Field("texts", DOCUMENTS, Route.RERANK, "texts to rank; the answer is TEI's list", None, None,
          "documents"),
    Field("documents", DOCUMENTS, Route.RANK, most="documents",
          help="texts of your own to rank in place of the collection, without syntax, typos and "
          "what uses metadata"),
    Field("documents", DOCUMENTS, Route.RERANK, "texts to rank; the answer is Cohere's and Jina's",
          None, None, "documents"),
    Field("documents", RECORDS, Route.ADD, most="documents", needed=True,
          help="documents to add; one with a known id replaces the old one"),
    Field("skip_bad", FLAG, Route.ADD, "leave out documents that cannot be used", False),
    Field("ids", TEXTS, Route.DELETE, "ids of documents to delete", None, None, "documents"),
    Field("where", OBJECT, Route.DELETE, "delete the documents that a filter by metadata allows"),
    Field("text", STRING, Route.REMEMBER, "what to remember", None, None, "characters",
          needed=True),
    Field("title", STRING, Route.REMEMBER, "what it is about, in a few words", "", None, _NAME),
    Field("id", STRING, Route.REMEMBER, most=_NAME,
          help="an id by which it can be replaced or forgotten; without one it gets one"),
    Field("input", TEXTS, Route.EMBEDDINGS, "texts to encode, no tokens", None, None, "documents",
          needed=True),
    Field("inputs", TEXTS, Route.EMBED, "texts to encode", None, None, "documents", needed=True),
    Field("top_n", WHOLE, Route.RERANK, "number of texts that come back", None, 1, _HUGE),
    Field("top_k", WHOLE, Route.RERANK, "the same as top_n", None, 1, _HUGE),
    Field("return_documents", FLAG, Route.RANK, "return title, text and metadata of hits", True),
    Field("return_documents", FLAG, Route.RERANK, "return the texts", False),
    Field("return_text", FLAG, Route.RERANK, "the same as return_documents", False),
    Field("model", STRING, Route.RERANK, "a name that comes back in the answer", "ranklet", None,
          _NAME),
    Field("model", STRING, Route.EMBEDDINGS | Route.EMBED, default="ranklet", most=_NAME,
          help="the ranker that encodes; ranklet is the bundle's first that does"),
    Field("input_type", STRING, Route.EMBEDDINGS, "what the texts are, query or document",
          "document", values=("document", "query")),
    Field("prompt_name", STRING, Route.EMBED, "what the texts are, query or document", "document",
          values=("document", "passage", "query")),
    Field("encoding_format", STRING, Route.EMBEDDINGS, "how vectors are written, float or base64",
          "float", values=("float", "base64")),
    Field("dimensions", WHOLE, Route.EMBEDDINGS, least=1, most=_HUGE,
          help="numbers of a vector, as many as the encoder returns"),
    Field("normalize", FLAG, Route.EMBED, "whether dense vectors get the length 1", True),
    # Fields of existing clients. Scores are always the bundle's own, and requests are answered in
    # the order of their arrival.
    Field("truncate", FLAG, Route.RERANK | Route.EMBED, default=True,
          help="if false, a text that is too long is refused"),
    Field("truncation_direction", STRING, Route.RERANK | Route.EMBED, default="right",
          help="long texts are cut at their end", values=("right", "Right")),
    Field("raw_scores", FLAG, Route.RERANK, "it has no effect", False),
    Field("priority", ANYTHING, Route.RERANK, "it has no effect"),
    Field("user", ANYTHING, Route.RERANK | Route.EMBEDDINGS, "it has no effect"),
    # What people or clients send and what is not supported. Some clients always send what Cohere
    # does without these fields.
    Field("at", ABSENT, Route.RANK | Route.SEARCH | Route.EXPLAIN,
          "earlier versions have what was deleted since; rank one by `ranklet rank --at`"),
    Field("filter", ABSENT, Route.RANK | Route.SEARCH | Route.CONTEXT,
          "the filter by metadata is called 'where'"),
    Field("filter", ABSENT, Route.EXPLAIN, _BY_ID),
    Field("filter", ABSENT, Route.RERANK, _OF_OWN),
    Field("fields", ABSENT, Route.EXPLAIN, _PLAIN),
    Field("fields", ABSENT, Route.RERANK, _COLLECTION),
    Field("where", ABSENT, Route.EXPLAIN, _BY_ID),
    Field("where", ABSENT, Route.RERANK, _OF_OWN),
    Field("boost", ABSENT, Route.RERANK, _OF_OWN),
    Field("syntax", ABSENT, Route.EXPLAIN, _PLAIN),
    Field("syntax", ABSENT, Route.RERANK, _COLLECTION),
    Field("typos", ABSENT, Route.EXPLAIN, _PLAIN),
    Field("typos", ABSENT, Route.RERANK, _COLLECTION),
    Field("max_chunks_per_doc", ABSENT, Route.RERANK, _LENGTH, 10),
    Field("max_tokens_per_doc", ABSENT, Route.RERANK, _LENGTH, 4096),
    Field("truncate_prompt_tokens", ABSENT, Route.RERANK, _LENGTH),
    Field("dimensions", ABSENT, Route.EMBED, "vectors have all numbers of the bundle's encoder"),
    Field("rank_fields", ABSENT, Route.RERANK,
          "title and text of a document are ranked; send only what should be ranked"),
)  # fmt: skip


@cache
def fields_of(route: Route) -> Mapping[str, Field]:
    """Return the fields that a route knows, by name, in the order of the table."""
    return MappingProxyType({each.name: each for each in FIELDS if route in each.routes})
