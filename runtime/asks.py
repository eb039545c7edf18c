"""What `rank` and `context` may be asked, where each option is declared once.

From a field of `Ask` follow the keywords of Python with their help, the flags of `ranklet rank` and
`ranklet context`, the fields of requests and OpenAPI, the tools of assistants, and its row in
docs/options.md. ``make options`` writes what type checkers and readers see.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from ranklet.runtime.ground.errors import InputError, suggest
from ranklet.runtime.ground.frozen import frozen
from ranklet.runtime.ground.options import Option, as_list, declare, declared, read_attributes

if TYPE_CHECKING:
    from ranklet.runtime.pipelines.pipeline import PipelineLike

# A text, or an object with a "text" and optionally an "id" and a "title".
Document = str | Mapping[str, Any]

# A filter by metadata; docs/filtering.md describes it.
Where = Mapping[str, Any] | str | Sequence[str]

# What metadata add to scores, by field; docs/searching.md describes it.
BoostLike = Mapping[str, Mapping[str, Any]]

# Fields whose values are counted, or options for each.
Facets = Sequence[str] | Mapping[str, Mapping[str, Any] | None]

# Where somebody asks, besides Python.
FRONTS = HTTP, SHELL, ASSISTANT = "HTTP", "shell", "assistant"
# What is ranked, where some options cannot be used.
OWN, MILVUS = "own", "Milvus"

NEIGHBOURS, SECTION = "neighbours", "section"
POOL = 100  # hits whose order diversity changes; a fixed number, so that pages follow each other
MAX_IDS = 10_000  # that are pinned, or hidden; each is looked up
MAX_KEYS = 8  # that documents are sorted by
MAX_PARTS = 20  # phrases, excluded words and prefixes that a server looks up
MAX_WORDS = 50  # whose spellings a server looks up, in some hundred ways if they are unknown
MAX_BUDGET_MS = 86_400_000  # a day; a larger budget is probably a mistake in the unit
MAX_TOKENS = 100_000  # of a context
_LARGEST = 1e38  # of scores, which have 32 bits

# Why an option cannot be used, by what is ranked, and what to do instead.
_NO_METADATA = {OWN: "texts of your own have no metadata"}
_COUNTED = _NO_METADATA | {MILVUS: "Milvus does not return the metadata of all that matches"}
_NAMED = dict.fromkeys((OWN, MILVUS), "only documents that a bundle has are named by it")
_JOINED = dict.fromkeys((OWN, MILVUS), "it joins passages that a bundle has beside each other")
_LOOKED_UP = {OWN: "it is looked up in the collection, which texts of your own are no part of"}
_INSTEAD = {OWN: "leave documents out", MILVUS: "rank the bundle's own documents"}

_AFTER = ("\nReturns:\n", "\nRaises:\n")  # what follows the arguments in a docstring

F = TypeVar("F", bound=Callable[..., Any])


def as_vector(name: str, value: Any) -> tuple[float, ...]:
    """Return a list or an array of finite numbers as floats.

    Raises:
        InputError: it is something else.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # of lists of several lengths
        array = np.empty(0)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "fiu":
        raise InputError(f"{name} must be a list of numbers, not {value!r:.60}")
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    if not np.isfinite(single).all():
        raise InputError(f"{name} has a number that is not finite; encode the text again")
    return tuple(single.tolist())


def read_vector(path: str) -> tuple[float, ...]:
    """Return the vector in a file of JSON or .npy.

    Raises:
        InputError: there is none.
    """
    try:
        if path.endswith(".npy"):
            return as_vector("vector", np.load(path, allow_pickle=False).reshape(-1))
        return as_vector("vector", json.loads(Path(path).read_text("utf-8")))
    except InputError:
        raise
    except Exception as error:  # a damaged .npy has many
        raise InputError(
            f"--vector {path!r:.200} cannot be read ({type(error).__name__})"
        ) from error


@frozen
class Ask:
    """What a query is asked with; docs/options.md has an example of each option.

    What an option says of itself is what a command line shows; these are further sentences.

    Attributes:
        k: No more come back than the pipeline retrieves, which is 1,000 unless it says otherwise.
        offset: ``k=10, offset=20`` are the last ten hits of ``k=30``.
        where: Only documents that it allows are retrieved, so k of them come back if k match.
        pipeline: Python also takes a `Pipeline`, or a list of its stages, each an object such as
            `Retrieve` or its JSON.
        budget_ms: The hits are ordered by the finished stages, and `Ranking.left_out` lists the
            others. The first stage is always finished. A server has a limit of its own.
        group_by: At most `group_size` hits of a group come back, and `k` and `offset` count groups.
            Longer lists are retrieved if there are fewer groups, so k come back if there are k.
            Hits remain in the order of their scores. A document without a value is a group of its
            own.
        syntax: See `Query.parse`.
        boost: It takes the place of what the pipeline boosts by; ``{}`` is for nothing.
        pin: They must pass the filter. `Ranking.unknown` has ids that no document has.
        facets: They are in `Ranking.facets`, and the number of matches in `total`; an empty list
            only counts the matches. The 10 most frequent values come back unless ``top`` is another
            number, and with ``missing`` also how many have none. A range ends before its second
            value, and None leaves an end open; ``[0, 50, None]`` are two ranges. With ``"range":
            True`` the least and the most value come back.
        sort: A minus is for descending, and the best ``score`` is always first. Documents without a
            value are last. Equal ones are ordered by score. A match that the pipeline did not score
            has the lowest score of the others.
        fields: Others keep theirs. ``text`` is the field of all other words.
        unique: They share nine in ten of their different words with a better one, whose
            `Hit.folded` names them.
        diversity: From 0 to 1. It orders the best 100 hits or passages, by vectors where the bundle
            stores one of each document, and otherwise by words. Scores stay as they are.
        relevance: It is in `Hit.relevance`, and `Ranking.answerable` says how likely the best
            document answers (docs/answers.md).
        vector: The text is what words are searched by. An array of numpy will do, and a shell reads
            a file of JSON or .npy.
        passages: They are the best that were found, in `Hit.spans`. Those that overlap or touch are
            one span.

    Raises:
        InputError: a value is not allowed, or has no effect beside another.
    """

    GROUP: ClassVar[str] = "rank"  # the function that it is of
    WITHOUT: ClassVar[tuple[str, ...]] = ()  # options of a base that nobody is offered here

    k: int = declare(10, "number of hits, or of groups", int, flag="-k", limit="k", example="5")
    offset: int = declare(0, "best hits to leave out, so that pages follow each other", int,
        limit="k", example="20")  # fmt: skip
    where: Where | None = declare(None, 'filter by metadata, such as year>=2020 or '
        '{"year": {">=": 2020}} (docs/filtering.md)', dict, many="all", metavar="CONDITION",
        example='"year>=2020"', unfit=_NO_METADATA)  # fmt: skip
    pipeline: "PipelineLike" = declare(None, "a pipeline's name; the default is the bundle's "
        "default", object, metavar="NAME", example='"bm25"')  # fmt: skip
    explain: bool = declare(False, "explain every score", bool)
    budget_ms: float | None = declare(None, "skip stages that would begin after this many "
        "milliseconds", float, most=MAX_BUDGET_MS, fronts=(SHELL,), example="50")  # fmt: skip
    min_score: float | None = declare(None, "leave out hits with a lower score", float,
        least=-_LARGEST, most=_LARGEST, fronts=(HTTP, SHELL), example="0.5")  # fmt: skip
    group_by: str | None = declare(None, "a field of the metadata, whose equal values make groups",
        str, fronts=(HTTP, SHELL), example='"year"', unfit=_NO_METADATA)  # fmt: skip
    group_size: int = declare(1, "hits of each group", int, least=1, limit="k",
        fronts=(HTTP, SHELL), example="2")  # fmt: skip
    syntax: bool = declare(False, 'read "exact phrase", -excluded, prefi*, +required, OR and '
        f"field:word in the query (a server: at most {MAX_PARTS})", bool,
        unfit=_LOOKED_UP)  # fmt: skip
    typos: bool = declare(False, "replace unknown words by ones that differ in a letter or two (a "
        f"server: in queries of at most {MAX_WORDS} words)", bool, unfit=_LOOKED_UP)  # fmt: skip
    synonyms: bool = declare(True, "count synonyms by the file beside the bundle "
        "(docs/searching.md)", bool)  # fmt: skip
    rules: bool = declare(
        True, "pin and hide documents by the rules for queries in that file", bool
    )
    boost: BoostLike | None = declare(None, 'what metadata add to the scores, such as {"date": '
        '{"half_life": "30d", "weight": 0.2}} (docs/searching.md)', dict, unfit=_NO_METADATA,
        example='{"date": {"half_life": "30d", "weight": 0.2}}')  # fmt: skip
    pin: Sequence[str] | None = declare(None, "ids of documents that come first, in this order, "
        "whether they match or not", list, limit="documents", most=MAX_IDS, metavar="ID",
        example='["d7"]', unfit=_NAMED)  # fmt: skip
    hide: Sequence[str] | None = declare(None, "ids of documents that are left out", list,
        limit="documents", most=MAX_IDS, metavar="ID", example='["d3"]', unfit=_NAMED)  # fmt: skip
    facets: Facets | None = declare(None, 'fields whose values are counted in all matches, such as '
        '["year"] or {"year": {"ranges": [[2000, 2010]]}}', dict, flag="--facet", many="again",
        limit="facets", metavar="NAME", example='{"year": {"ranges": [[2000, 2010]]}}',
        unfit=_COUNTED)  # fmt: skip
    sort: Sequence[str] | None = declare(None, 'fields to order all matches by, such as ["-date", '
        '"score"]', list, most=MAX_KEYS, metavar="NAME", example='["-year", "score"]',
        unfit=_COUNTED)  # fmt: skip
    fields: Mapping[str, float] | None = declare(None, 'weights of fields, such as {"title": 3}, '
        "in place of those of the bundle (docs/searching.md)", dict, example='{"title": 3}',
        unfit=_LOOKED_UP)  # fmt: skip
    unique: bool = declare(False, "leave out near duplicates of better hits or passages", bool)
    diversity: float | None = declare(None, "how much hits should differ from better ones", float,
        most=1, example="0.5")  # fmt: skip
    relevance: bool = declare(False, "say how likely each hit answers the query", bool,
        fronts=(HTTP, SHELL))  # fmt: skip
    min_relevance: float | None = declare(None, "leave out hits that are less likely to answer the "
        "query (docs/answers.md)", float, most=1, example="0.5")  # fmt: skip
    passages: int | None = declare(None, "how many passages of its document a hit has, or all of a "
        "document together", int, least=1, limit="explained", example="3",
        unfit=_JOINED)  # fmt: skip
    vector: Sequence[float] | None = declare(None, "the query's vector, by the model that made "
        "those of the documents (docs/own-vectors.md)", np.ndarray, fronts=(HTTP, SHELL),
        metavar="FILE", read=read_vector, example="[0.1, -0.2, 0.7]",
        unfit={OWN: "texts of your own have no vectors"})  # fmt: skip
    context: str | None = declare(None, "what is around each passage: neighbours, or the section "
        "that it stands in", str, allowed=(NEIGHBOURS, SECTION), example='"section"',
        unfit=_JOINED)  # fmt: skip

    def __init__(self, **given: Any) -> None:
        """Check all that is given, and what it says together.

        It is written by hand, because one of 24 arguments takes a start half a millisecond.
        """
        own, (options, defaults, *_) = vars(self), _known(type(self))
        own.update(defaults)
        for name, value in given.items():
            if name not in own:
                raise TypeError(f"{self.GROUP}() has no option {name!r}")
            if name in options and value is not own[name]:
                own[name] = _read(name, value, options[name])
        self._check_together()

    def _check_together(self) -> None:
        if self.pin and self.hide and (both := {*self.pin} & {*self.hide}):
            raise InputError(
                f"{min(both)[:80]!r} is pinned and hidden; leave it out of pin or hide"
            )
        if self.sort and self.rated:
            raise InputError(
                "sort orders all documents that match, and only a pipeline's candidates have a "
                "relevance; leave one of them out"
            )
        if self.sort and self.diversity:
            raise InputError("sort and diversity both order the hits; leave one of them out")
        if self.group_by is None and self.group_size != 1:
            raise InputError("group_size says how many hits of a group come back; pass group_by")

    @classmethod
    def named(cls, given: Mapping[str, Any]) -> Self:
        """Return the options that keywords of a function name.

        Raises:
            TypeError: there is no such option, as of any function.
            InputError: see the class.
        """
        known = keywords(cls)
        for name in given:
            if name not in known:
                meant = suggest(name, [*known])
                raise TypeError(f"{cls.GROUP}() has no keyword argument {name!r}{meant}")
        return cls(**given)

    def given(self) -> dict[str, Any]:
        """Return the options that are not the default, by name."""
        values = ((name, getattr(self, name)) for name in keywords(type(self)))
        return {name: each for name, each in values if each is not getattr(type(self), name)}

    def refuse(self, place: str, instead: str = "") -> None:
        """Raise InputError if an option was given that cannot be used for what is ranked.

        Args:
            place: `OWN` or `MILVUS`.
            instead: what to do other than to leave the option out.
        """
        options = keywords(type(self))
        for name, value in self.given().items():
            if place in options[name].unfit and value != ():
                reason = options[name].unfit[place]
                raise InputError(f"{name}: {reason}; leave it out, or {instead or _INSTEAD[place]}")

    @property
    def counts(self) -> bool:
        """Whether all documents that match must be found, and not only the best."""
        return self.facets is not None or bool(self.sort)

    @property
    def widened(self) -> bool:
        """Whether hits have more than their own passage."""
        return self.passages is not None or self.context is not None

    @property
    def rated(self) -> bool:
        """Whether it must be known how likely hits answer the query."""
        return self.relevance or self.min_relevance is not None

    @property
    def reach(self) -> int:
        """How many documents, or groups, must be known."""
        return self.offset + self.k

    @property
    def reorders(self) -> bool:
        """Whether more than the first documents decides what comes back."""
        return self.group_by is not None or self.unique or bool(self.diversity)

    def without_hits(self) -> "Ask":
        """Return what is only counted."""
        return Ask(k=0, min_score=self.min_score, facets=self.facets, relevance=self.rated)


@frozen
class ContextAsk(Ask):
    """What a context is asked with; see `Ask`."""

    GROUP = "context"
    # What is of hits. So many documents are ranked, as a list ends when enough are known.
    WITHOUT = ("k", "offset", "explain", "group_by", "group_size", "pin", "facets", "sort")

    k: int = 25
    unique: bool = True
    tokens: int = declare(1000, "the most tokens of the whole text by the bundle's tokenizer, or "
        "else the most words (docs/answers.md)", int, least=1, most=MAX_TOKENS,
        example="500")  # fmt: skip


class _Known(NamedTuple):
    """What is made of a class once."""

    options: Mapping[str, Option]
    defaults: Mapping[str, Any]
    parameters: Sequence[Parameter]
    told: Mapping[str, str]  # further sentences


_KNOWN = dict[type[Any], _Known]()


def _known(kind: type[Ask]) -> _Known:
    if kind not in _KNOWN:
        options, own = declared(kind), {each.name: each for each in fields(kind)}
        offered = {name: options[name] for name in options if name not in kind.WITHOUT}
        named = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=at.default, annotation=at.type)
            for name, at in own.items()
            if name in offered
        ]
        defaults = {name: each.default for name, each in own.items()}
        told = read_attributes(Ask)
        _KNOWN[kind] = _Known(MappingProxyType(offered), defaults, named, told)
    return _KNOWN[kind]


def keywords(kind: type[Ask]) -> Mapping[str, Option]:
    """Return the options that a class offers, by name."""
    return _known(kind).options


def asking(kind: type[Ask]) -> Callable[[F], F]:
    """Let the signature and the docstring of a function with ``**named`` have all options.

    They follow the function's own arguments.
    """

    def shown(function: F) -> F:
        own = signature(function)
        before = {name: each for name, each in own.parameters.items() if name != "named"}
        named = [each for each in _known(kind).parameters if each.name not in before]
        vars(function)["__signature__"] = own.replace(parameters=[*before.values(), *named])
        lines = "".join(f"    {each.name}: {told(kind, each.name)}\n" for each in named)
        text = cleandoc(function.__doc__ or "")
        end = min([text.find(each) for each in _AFTER if each in text], default=len(text))
        begun = text[:end].rstrip() + ("" if "\nArgs:\n" in text else "\n\nArgs:")
        function.__doc__ = f"{begun}\n{lines}{text[end:]}"
        return function

    return shown


def told(kind: type[Ask], name: str) -> str:
    """Return what an option means, in sentences."""
    return f"{keywords(kind)[name].about}. {_known(kind).told.get(name, '')}".rstrip()


def _read(name: str, value: Any, option: Option) -> Any:
    """Return a value of an option as plain Python has it, and texts of a list in a tuple.

    Raises:
        InputError: it is not allowed.
    """
    if isinstance(value, np.generic):
        value = value.item()
    option.check(name, value)
    if option.kind is np.ndarray and value is not None:
        return as_vector(name, value)
    if option.kind is not list or value is None:
        return value
    found = tuple(as_list(value, name, f"give one such as {option.example}"))
    if wrong := [each for each in found if not isinstance(each, str)]:
        raise InputError(f"{name} has {wrong[0]!r:.60}; give texts, such as {option.example}")
    if len(found) > (option.most or len(found)):
        raise InputError(f"{name} has {len(found):,} entries; at most {option.most:,} are allowed")
    return found


def is_blank(query: str) -> bool:
    """Return whether a query is empty, or the star that stands for it elsewhere."""
    return query.strip() in ("", "*")


def check_text(text: object, name: str = "query") -> None:
    """Raise InputError unless `text` is a string; `name` is for the message."""
    if not isinstance(text, str):
        raise InputError(f"{name} must be a string, not {type(text).__name__}")


def check_query(query: object, name: str = "query") -> None:
    """Raise InputError unless `query` is a non-empty string; `name` is for the message."""
    check_text(query, name)
    if isinstance(query, str) and not query.strip():
        raise InputError(f"{name} is empty; give at least one word")


def own_documents(
    documents: Sequence[Document], name: str = "documents"
) -> list[tuple[str, str, str]]:
    """Return (id, title, text) of each of the caller's own documents.

    A value of None counts as absent. Without an id a document has its index, without a title "".

    Raises:
        InputError: one of them is not a text; the message contains `name` and its index.
    """
    records = []
    for index, document in enumerate(as_list(documents, name, "put the one in a list")):
        fields: object = {"text": document} if isinstance(document, str) else document
        known = fields if isinstance(fields, Mapping) else {}
        text, title, identity = (known.get(key) for key in ("text", "title", "id"))
        whole = isinstance(identity, int | np.integer) and not isinstance(identity, bool)
        if (
            not isinstance(text, str)
            or not isinstance(title, str | None)
            or not (whole or isinstance(identity, str | None))
        ):
            raise InputError(
                f"{name}[{index}] must be a string, or an object with a string 'text' (and "
                "optionally a string 'title' and an 'id', a string or a whole number), not "
                f"{document!r:.60}"
            )
        records.append((str(index if identity is None else identity), title or "", text))
    return records
