"""Queries with phrases, fields, required and excluded words, for callers who ask for it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import as_list
from ranklet.runtime.syntax.signs import FIELD, OR, QUOTES
from ranklet.runtime.text.spellings import join_acronyms

# An optional minus or plus and field, then a quoted phrase or anything up to a space. Quotes and
# the minus may be typographic.
_PART = rf"([-‐‑–−﹣－+]?)((?:{FIELD})?)(?:[{QUOTES}]([^{QUOTES}]*)[{QUOTES}]|(\S+))"
_PARTS = ("phrases", "prefixes", "excluded", "excluded_phrases", "excluded_prefixes")


class Clause(NamedTuple):
    """A word, a phrase or the beginning of a word, perhaps in one field."""

    text: str
    field: str = ""  # empty for all fields
    kind: str = ""  # "" for a word, or "phrases" or "prefixes"

    @property
    def typed(self) -> str:
        """How it stands in the text of a query that nobody has compared with the fields yet."""
        return f"{self.field}:{self.text}" if self.field else self.text


@dataclass(frozen=True)
class Query:
    """A query whose words are not all alike; `Bundle.rank` takes it in place of a text.

    Attributes:
        text: the words that are ranked by, those of phrases and prefixes included.
        phrases: texts that a hit must contain word by word.
        prefixes: beginnings of words. Words that begin so are added to the query.
        excluded: words that no hit contains in any inflection.
        excluded_phrases: texts that no hit contains word by word.
        excluded_prefixes: beginnings of words that no hit contains.
        required: a hit has one clause of each group. A field that the bundle does not have makes
            its group words like others.
        forbidden: clauses in a field, of which no hit has any.
        fields: weights of fields, in place of those of the bundle; None for these.
        signs: signs of a text that was read which have no meaning where they stand; None if no text
            was read.
        typos: whether a word that the bundle does not know is replaced by one that differs in one
            letter, or in two if it is long.
        typed: what a person typed, signs included; "" if nobody did.

    Raises:
        InputError: a part is no text.
    """

    text: str
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()
    excluded_prefixes: tuple[str, ...] = ()
    required: tuple[tuple[Clause, ...], ...] = ()
    forbidden: tuple[Clause, ...] = ()
    fields: Mapping[str, float] | None = None
    signs: tuple[str, ...] | None = field(default=None, compare=False)
    typos: bool = False
    typed: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(f"a query's text must be a string, not {type(self.text).__name__}")
        for name in _PARTS:
            parts = tuple(as_list(getattr(self, name), name, "put the one in a list"))
            if not all(isinstance(each, str) for each in parts):
                raise InputError(f"{name} must be texts, not {parts!r:.80}")
            object.__setattr__(self, name, parts)
        required = tuple(tuple(Clause(*each) for each in group) for group in self.required)
        object.__setattr__(self, "required", required)
        object.__setattr__(self, "forbidden", tuple(Clause(*each) for each in self.forbidden))
        if type(self.typos) is not bool:
            raise InputError(f"typos is {self.typos!r}; it must be True or False")

    @classmethod
    def parse(cls, query: str, *, typos: bool = False) -> Self:
        """Read ``"exact phrase"``, ``-word``, ``word*``, ``+word``, ``OR`` and ``field:word``.

        A field and a minus may stand before a word, a phrase or the beginning of a word. A hyphen
        within a word is none of these.

        Args:
            query: what a person typed.
            typos: see `typos`.

        Raises:
            InputError: a quote is not closed, a phrase is empty, a star is not at the end of a word
                of two letters or more, or a minus stands alone.

        >>> Query.parse('"knead it" -wheat brea*')
        Query('knead it brea', phrases=('knead it',), prefixes=('brea',), excluded=('wheat',))
        >>> Query.parse("rye OR spelt").required
        ((Clause(text='rye', field='', kind=''), Clause(text='spelt', field='', kind='')),)
        """
        if not isinstance(query, str):
            raise InputError(f"query must be a string, not {type(query).__name__}")
        words: list[str] = []
        found: dict[str, list[str]] = {name: [] for name in _PARTS}
        required, forbidden, signs = list[tuple[Clause, ...]](), list[Clause](), list[str]()
        for sign, clauses, lost in _groups(join_acronyms(query), query):
            signs += lost
            if sign == "-":
                (clause,) = clauses
                if clause.field:
                    forbidden.append(clause)
                else:
                    kind = f"excluded_{clause.kind}" if clause.kind else "excluded"
                    found[kind].append(clause.text)
                continue
            words += [each.typed for each in clauses]
            found["prefixes"] += [each.text for each in clauses if each.kind == "prefixes"]
            if clauses and (len(clauses) > 1 or clauses[0].field):
                required.append(clauses)
            elif clauses and clauses[0].kind == "phrases":
                found["phrases"].append(clauses[0].text)
            elif sign == "+":
                required.append(clauses)
        parts: dict[str, Any] = {
            name: tuple(dict.fromkeys(values)) for name, values in found.items()
        }
        return cls(
            " ".join(words), **parts, required=tuple(required), forbidden=tuple(forbidden),
            signs=tuple(dict.fromkeys(signs)), typos=typos, typed=query,
        )  # fmt: skip

    def __repr__(self) -> str:
        names = (*_PARTS, "required", "forbidden", "fields", "typos")
        others = [f"{name}={value!r}" for name in names if (value := getattr(self, name))]
        return f"Query({', '.join([repr(self.text), *others])})"

    @property
    def parts(self) -> int:
        """How many phrases, prefixes, required and excluded words there are."""
        lists = [getattr(self, name) for name in _PARTS]
        return sum(map(len, (*lists, *self.required, self.forbidden)))

    @property
    def restricts(self) -> bool:
        """Whether some documents cannot be hits."""
        excluded = (self.excluded, self.excluded_phrases, self.excluded_prefixes)
        return any((self.phrases, self.required, self.forbidden, *excluded))

    def among(self, fields: Iterable[str]) -> Self:
        """Return the query for a bundle with some fields, where clauses in others are words.

        Capitals in the name of a field need not be right.

        Raises:
            InputError: a clause in a field that is not there is forbidden.
        """
        exact = {name: name for name in fields}
        known = {name.casefold(): name for name in exact} | exact

        def named(clause: Clause) -> Clause:
            name = known.get(clause.field) or known.get(clause.field.casefold(), "")
            return clause._replace(field=name)

        text, signs = self.text, list(self.signs or ())
        required, forbidden = list[tuple[Clause, ...]](), list[Clause]()
        for clause in self.forbidden:
            if not named(clause).field:
                raise InputError(
                    f"-{clause.typed:.60} excludes a word of the field {clause.field!r:.60}, and "
                    f"the fields of this bundle are {', '.join(exact) or 'none'} "
                    "(docs/searching.md)"
                )
            forbidden.append(named(clause))
        for group in self.required:
            unknown = [each.field for each in group if each.field and not named(each).field]
            if unknown:
                signs += [f"{name}:" for name in unknown] + [OR] * (len(group) > 1)
                continue
            for clause in group:
                if clause.field:
                    text = _without_field(text, clause)
            required.append(tuple(map(named, group)))
        return replace(
            self, text=text, required=tuple(required), forbidden=tuple(forbidden),
            signs=tuple(dict.fromkeys(signs)),
        )  # fmt: skip


def _without_field(text: str, clause: Clause) -> str:
    """Return the text of a query in which a clause stands without its field."""
    place = rf"(?<!\S){re.escape(clause.typed)}"
    return re.sub(place, lambda _: clause.text, text, count=1)


def read_typed_query(
    text: str | Query,
    *,
    syntax: bool = False,
    typos: bool = False,
    fields: Mapping[str, float] | None = None,
) -> str | Query:
    """Return what a person typed as a query, which stays a plain text if all are off.

    Args:
        text: what was typed, or a query that was read before, if syntax and typos are off.
        syntax: whether its signs have a meaning; see `Query.parse`.
        typos: whether unknown words are corrected; see `Query`.
        fields: weights of fields; see `Query`.

    Raises:
        InputError: as `Query.parse`; or a query that was read before shall be read again.
    """
    for name, value in (("syntax", syntax), ("typos", typos)):
        if type(value) is not bool:
            raise InputError(f"{name} is {value!r:.60}; it must be True or False")
        if value and isinstance(text, Query):
            raise InputError(f"{name} says how a text is read; a Query says that itself")
    read = text
    if syntax and isinstance(text, str):
        read = Query.parse(text, typos=typos)
    elif (typos or fields is not None) and isinstance(text, str) and text.strip():
        read = Query(text, typos=typos)
    return replace(read, fields=fields) if fields is not None and isinstance(read, Query) else read


class _Group(NamedTuple):
    """Clauses that OR joins, or a single one."""

    sign: str  # of a single one, "+", "-" or ""
    clauses: tuple[Clause, ...]
    lost: list[str]  # signs without a meaning where they stand


def _groups(text: str, query: str) -> list[_Group]:
    """Return the groups of clauses of a text, in order.

    An OR joins what stands before and after it, unless one of these is missing or excluded.

    Args:
        text: the query.
        query: the query as it was typed, for messages.
    """
    found, joins = list[_Group](), False
    for sign, name, quoted, word in re.findall(_PART, text):
        if word == OR and not sign and not name:
            if joins or not found or found[-1].sign == "-":
                found.append(_Group("", (), [OR]))
            else:
                joins = True
            continue
        if word in ("", "+") and sign != "-" and not quoted and (sign or word) == "+":
            found.append(_Group("", (), ["+"]))
            continue
        kind, part = _part(quoted, word, query)
        clause = Clause(part, name[:-1], kind)
        sign = "-" if sign and sign != "+" else sign
        if joins and sign != "-":
            last = found.pop()
            found.append(_Group("", (*last.clauses, clause), last.lost))
        else:
            found.append(_Group(sign, (clause,), [OR] if joins else []))
        joins = False
    if joins:
        found.append(_Group("", (), [OR]))
    return found


def _part(quoted: str, word: str, query: str) -> tuple[str, str]:
    """Return the kind of a part, "" for a word, and its text without signs."""
    if not word:
        if not quoted.strip():
            raise InputError(f'the query {query!r:.80} has an empty phrase; leave "" out')
        return "phrases", quoted.strip()
    if any(quote in word for quote in QUOTES):
        raise InputError(
            f"a quote in the query {query!r:.80} is not closed, or has no space before it; write "
            '"a phrase"'
        )
    if word == "-":
        raise InputError("a minus stands alone in the query; write -word without a space")
    if "*" not in word:
        return "", word
    stem = word.removesuffix("*")
    if "*" in stem or len(stem) < 2:
        raise InputError(
            f"{word!r:.40} is no prefix; write two letters or more and one star, as wo*"
        )
    return "prefixes", stem
