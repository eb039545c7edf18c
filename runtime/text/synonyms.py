"""Words that stand for others, as a file says, and where a query has some.

A line is a group, ``car, auto, automobile``, whose entries stand for each other, or a rule, ``ny =>
new york, big apple``, whose right side stands for the left. An entry may end in a weight from 0 to
1, as in ``auto * .5``. A line that begins with # is a remark. A rule for whole queries, ``pin: big
pot => A-1, A-2`` or ``hide: pot => A-3``, says which documents come first, or not at all.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.text.analysis import STOPPED, Vocabulary
from ranklet.runtime.text.compounds import parts

MOST_WORDS = 8  # of an entry
_RULE = re.compile(r"\s*(pin|hide)\s*:(.*)")
_ENTRY = re.compile(r"(.*?)(?:\s*\*\s*(\d*\.?\d+))?", re.DOTALL)

Key = tuple[str, ...]  # the classes of an entry's words, without stop words


class Rule(NamedTuple):
    """What comes back for a query besides what is found: ids, in their order."""

    pin: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()


class Synonym(NamedTuple):
    """What stands for some words.

    Attributes:
        text: as the file has it.
        words: the words of the text, without stop words.
        weight: of its score, above 0 and at most 1.
    """

    text: str
    words: tuple[str, ...]
    weight: float


class Match(NamedTuple):
    """Words of a query for which others may stand."""

    text: str  # as typed
    synonyms: tuple[Synonym, ...]
    ends: bool = False  # whether the synonyms end with the text, which no document has


def match_ends(
    query: str, vocabularies: Sequence[Vocabulary], knows: Callable[[str], bool]
) -> Iterator[Match]:
    """Yield the words of a query that nobody knows and with which words of vocabularies end."""
    for begin, end, word, _ in _words(query, vocabularies[0]):
        if not knows(word):
            found: dict[str, float] = {}
            for each in vocabularies:
                found = each.ending_with(word) | found
            if found:
                synonyms = (Synonym(other, (other,), weight) for other, weight in found.items())
                yield Match(query[begin:end], tuple(synonyms), ends=True)


class Synonyms:
    """The synonyms and rules of a bundle; immutable and shared by all threads.

    Attributes:
        rules: of queries.

    Args:
        text: the content of the file.
        vocabulary: says how texts are split into words, and which of these are forms of one.

    Raises:
        InputError: a line cannot be read; the message has its number.
    """

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text, self._vocabulary = text, vocabulary
        self._rules: dict[Key, dict[Key, Synonym]] = {}
        self.rules: dict[Key, Rule] = {}
        for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                try:
                    self._read(line)
                except InputError as error:
                    raise InputError(f"synonyms, line {number}: {error}") from None
        self._longest = max(map(len, self._rules), default=0)

    def __len__(self) -> int:
        """Return how many words, or rows of words, have synonyms."""
        return len(self._rules)

    def rule(self, query: str) -> Rule:
        """Return the rule whose words, in any of their forms, are all words of a query."""
        key = tuple(each.key for each in _words(query, self._vocabulary))
        return self.rules.get(key, Rule())

    def matches(self, query: str) -> list[Match]:
        """Return the words of a query that have synonyms, the longest rows first from the left."""
        words, found, at = list(_words(query, self._vocabulary)), list[Match](), 0
        while at < len(words):
            for length in range(min(self._longest, len(words) - at), 0, -1):
                row = words[at : at + length]
                if synonyms := self._rules.get(tuple(each.key for each in row)):
                    text = query[row[0].begin : row[-1].end]
                    found.append(Match(text, tuple(synonyms.values())))
                    at += length
                    break
            else:
                at += 1
        return found

    def _read_rule(self, kind: str, line: str) -> None:
        left, _, right = line.partition("=>")
        ids = [each.strip() for each in right.split(",")]
        entries = [self._entry(each) for each in left.split(",")]
        if not all(ids) or any(entry.weight != 1 for _, entry in entries):
            written = f"{kind}:{line[:60]}"
            raise InputError(f"{written!r} is no rule; write {kind}: big pot => A-1, A-2")
        for key, entry in entries:
            known = self.rules.get(key, Rule())
            rule = known._replace(**{kind: tuple(dict.fromkeys([*getattr(known, kind), *ids]))})
            if both := {*rule.pin} & {*rule.hide}:
                raise InputError(f"{min(both)!r:.60} is pinned and hidden for {entry.text!r:.60}")
            self.rules[key] = rule

    def _read(self, line: str) -> None:
        if rule := _RULE.fullmatch(line):
            self._read_rule(rule[1], rule[2])
            return
        left, arrow, right = line.partition("=>")
        if "=>" in right:
            raise InputError(f"{line.strip()[:60]!r} has two arrows; write one rule per line")
        origins = [self._entry(each) for each in left.split(",")]
        targets = [self._entry(each) for each in right.split(",")] if arrow else origins
        if arrow and any(each.weight != 1 for _, each in origins):
            raise InputError(f"{left.strip()[:60]!r} has a weight, which belongs right of =>")
        if not arrow and len(origins) < 2:
            raise InputError(
                f"{line.strip()[:60]!r} has no synonym; write car, auto or ny => new york"
            )
        for key, _ in origins:
            rules = self._rules.setdefault(key, {})
            for other, synonym in targets:
                known = rules.get(other)
                if other != key and (known is None or known.weight < synonym.weight):
                    rules[other] = synonym

    def _entry(self, written: str) -> tuple[Key, Synonym]:
        found = _ENTRY.fullmatch(written.strip())
        text, weight = found.groups() if found else ("", None)
        number = 1.0 if weight is None else float(weight)
        if not text or not 0 < number <= 1:
            raise InputError(
                f"{written.strip()[:60]!r} is no synonym; write words and perhaps a weight above 0 "
                "and at most 1, as auto * .5"
            )
        words = list(_words(text, self._vocabulary))
        if not words:
            raise InputError(f"{text[:60]!r} has only stop words, which no index has")
        if len(words) > MOST_WORDS:
            raise InputError(f"{text[:60]!r} has more than {MOST_WORDS} words")
        key = tuple(each.key for each in words)
        return key, Synonym(text, tuple(each.word for each in words), number)


class _Word(NamedTuple):
    begin: int
    end: int
    word: str
    key: str  # its class


def _words(text: str, vocabulary: Vocabulary) -> Iterator[_Word]:
    """Yield the words of a text without stop words."""
    for begin, end, word in parts(vocabulary.splitter.placed(text), signs=True, names=True):
        known = vocabulary.find(word)
        lemma = vocabulary.lemma_of[known] if known >= 0 else None
        if lemma != STOPPED and known not in vocabulary.stopped:
            key = vocabulary.lemma(word) if lemma is None else vocabulary.forms[int(lemma)]
            yield _Word(begin, end, word, key)
