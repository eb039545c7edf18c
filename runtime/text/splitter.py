"""Split texts into words by the rules that all languages share.

- A text is plain before it is split: compatibility forms are resolved, accents and invisible
  characters are removed, letters that have no other form in Unicode are spelled as people type them
  (ł is l), and all characters that stand for an apostrophe or a hyphen are one.
- A run of letters and digits is a word. An apostrophe joins them (don't, o'neill).
- A word with other signs in it (python.org, 2.13.0, str_replace, C++) gives its parts and then the
  whole. Hyphens and slashes count only next to a digit (UTF-8), slashes also next to a single
  letter (I/O), so that well-known and and/or are two words.
- A name in camel case gives its parts and the whole, too.
- An emoji is a word, and one made of several gives these and the whole.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache, cached_property
from itertools import chain, islice
from typing import TypeVar

from ranklet.runtime.text.spellings import ACCENT, LETTERS, join_acronyms, respelled, unaccented

Placed = tuple[int, int, str]  # begin and end in the text, and the word
T = TypeVar("T")

LOOK = 10_000  # words between two looks at the clock, in some 50 ms
_LONG = 4096  # characters; what is longer without a space is read in parts, each in some 20 ms
# How many chunks between spaces and how many runs are kept before all are forgotten.
_CHUNKS, _RUNS = 1 << 16, 1 << 13
LONGEST = 64  # characters of a whole with signs, and of a part that is kept

APOSTROPHES = frozenset("'‘’‛´′‵`ʹʻʼʽʾʿˊˋ΄᾽᾿՚׳ߴꞋꞌ＇")
_APOSTROPHE = dict.fromkeys(map(ord, APOSTROPHES), "'")
_HYPHENS = "‐‑‒–−﹣－"
# All default-ignorable code points except the zero-width space, which divides words, and the
# zero-width joiner, which stays between emoji.
_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_UNSAID = "©®™℠℗"  # signs of rights say nothing about the word before them
_PICTOGRAPH = (
    "[\u2194-\u2199\u21a9\u21aa\u2300-\u23ff\u25b6\u25c0\u25fb-\u27bf\u2934\u2935\u2b00-\u2bff"
    "\U0001f000-\U0001faff]"
)
_TONES = "[\U0001f3fb-\U0001f3ff]"
_JOINER = f"\u200d(?!{_PICTOGRAPH})"
# The half space of Persian stands between the parts of a word; elsewhere it says nothing.
HALF_SPACE = "\u200c"
_ARABIC = "[\u0620-\u065f\u0670-\u06d3\u06d5]"
_NO_HALF_SPACE = f"(?<!{_ARABIC}){HALF_SPACE}|{HALF_SPACE}(?!{_ARABIC})"
_ELEMENT = f"{_PICTOGRAPH}{_TONES}?"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_EMOJI = f"[0-9#*]\u20e3|{_FLAG}|{_ELEMENT}(?:\u200d{_ELEMENT})*"
_EMOJI_PARTS = f"{_FLAG}|[0-9]|(?!{_TONES}){_PICTOGRAPH}|^{_TONES}"

# A sign that makes a whole of its parts; a comma only within a number.
_SIGN = rf"{HALF_SPACE}|_*(?:[.@&/\\#~-]|\+{{1,2}}|:[:/\\]{{0,2}}|(?<=[0-9]),(?=[0-9]))_*|_+"
_BEFORE = r"(?:(?<![^\s(\[{<\"'`=])[.@#]|(?<![^\s(\[{<\"'`=.~])/)"
# Signs that say nothing at the begin or the end of what stands between two spaces.
QUIET_BEFORE, QUIET_AFTER = "([{<\"'`", ")]}>\"'`.,:;!?%"
# In a run everything else is a letter or a mark.
_LETTER = rf"[^._@&:/\\+#~,'`{HALF_SPACE}-]"


# Patterns are compiled when a text needs one, which most queries never do.
@cache
def _simple() -> re.Pattern[str]:
    """Return the pattern of what stands between two spaces most often.

    It is capitals and digits (1), or words that hyphens do not join (2), among signs that say
    nothing there.
    """
    return re.compile(
        r"""[^A-Za-z0-9.@#/]*
        (?:([A-Z0-9]+)|([A-Z]?[a-z][a-z0-9]*|[A-Z]?[a-z]+(?:-[A-Z]?[a-z]+)+))
        [^A-Za-z0-9+#]*""",
        re.VERBOSE,
    )


@cache
def _part() -> re.Pattern[str]:
    """Return the pattern of a part of a run without its sign (1) and with it."""
    return re.compile(rf"({_LETTER}+(?:['`]{_LETTER}+)*)(?:\+\+|[+#](?![+#]|{_LETTER}))?")


@cache
def _joining() -> re.Pattern[str]:
    """Return the pattern of what makes a whole of a run.

    That is a sign, or a hyphen or slash next to a digit, or a slash next to a single letter.
    """
    return re.compile(
        rf"^[./@#]|[._@&:\\+#~,{HALF_SPACE}]|[0-9][/-]|[/-][0-9]"
        rf"|(?<!{_LETTER}){_LETTER}/|/{_LETTER}(?!{_LETTER})"
    )


@cache
def _between_spaces() -> re.Pattern[str]:
    """Return the pattern of a run in a text that has only letters and spaces."""
    return re.compile("[^ ]+")


@cache
def _camel() -> re.Pattern[str]:
    """Return the pattern of where the parts of a name in camel case meet."""
    return re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z]{2})")


class _Plain(dict[int, str]):
    """What each character becomes in a plain text, found out when it first occurs.

    Args:
        keeps: returns whether a combining mark is more than an accent.
    """

    def __init__(self, keeps: Callable[[str], bool]) -> None:
        self._keeps = keeps
        self.update(_APOSTROPHE)
        self.update(dict.fromkeys(map(ord, _HYPHENS), "-"))
        self.update(dict.fromkeys(map(ord, _UNSAID), " "))
        self.update({ord("⁄"): "/", ord("∕"): "/"})
        # What leaves nothing, or brings a sign that may end a word, counts before a text is split.
        self.update({code: made for code, made in LETTERS.items() if not made.isalnum()})

    def __missing__(self, code: int) -> str:
        found = self[code] = self._of(chr(code))
        return found

    def _of(self, char: str) -> str:
        if char.isascii() or "\uac00" <= char <= "\ud7a3":  # NFKD would split Hangul
            return char
        if unicodedata.combining(char):
            return char if re.match(ACCENT, char) or self._keeps(char) else ""
        if re.match(_INVISIBLE, char):
            return ""
        category, resolved = unicodedata.category(char), unicodedata.decomposition(char)
        if category == "Nd":
            return str(unicodedata.decimal(char))
        if (category in ("So", "No")) and not resolved.startswith(("<super>", "<sub>")):
            return self._symbol(char)
        if resolved:
            apart = unicodedata.normalize("NFKD", char)
            composed = unicodedata.normalize("NFC", apart)
            return char if composed == char else self._each(apart)
        return char

    def _symbol(self, char: str) -> str:
        """Return what a symbol is as a word of its own."""
        resolved = unicodedata.normalize("NFKD", char)
        if resolved != char:
            return f" {self._each(resolved)} "
        number = unicodedata.numeric(char, 0.5)
        return f" {int(number)} " if number == int(number) else char

    def _each(self, chars: str) -> str:
        return "".join(self[ord(char)] for char in chars)


class _Kept(dict[str, tuple[T, ...]]):
    """What is read from each part of a text, kept because texts share most parts.

    Args:
        read: returns what is read from one part.
        most: parts that are kept.
    """

    def __init__(self, read: Callable[[str], Iterable[T]], most: int) -> None:
        self._read, self._most = read, most

    def __missing__(self, part: str) -> tuple[T, ...]:
        found = tuple(self._read(part))
        if len(part) <= LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[part] = found
        return found


class Splitter:
    """How texts of some languages are split into words.

    Args:
        letters: returns the pattern of one letter or digit of a plain text, with its marks.
        unspaced: the pattern of a run of letters between which no spaces are written.
        split_unspaced: returns the words of such a run and their places in it.
        bare: returns which characters of a word in lower case are left over without what an
            apostrophe adds, (begin, end).
        keeps: returns whether a combining mark is more than an accent.
        stopped: the stop words in lower case, with their accents.
    """

    def __init__(
        self,
        letters: Callable[[], str],
        unspaced: str,
        split_unspaced: Callable[[str], Iterable[Placed]],
        bare: Callable[[str], tuple[int, int]],
        keeps: Callable[[str], bool] = lambda _: False,
        stopped: AbstractSet[str] = frozenset(),
    ) -> None:
        self._letters, self._unspaced = letters, unspaced
        self._split_unspaced, self._bare, self.stopped = split_unspaced, bare, stopped
        self._plain = _Plain(keeps)
        self._words = _Kept(self.of_chunk, _CHUNKS)
        self._placed = _Kept(self._split, _RUNS)

    def words(
        self, text: str, length: int | None = None, look: Callable[[], None] = lambda: None
    ) -> list[str]:
        """Return the words of a text in lower case, or those of so many of its first characters.

        These may be others than those of a text that ends there, if they are all in capitals. In a
        long text, `look` is called again and again, and may raise an error.
        """
        chunks = self.chunks(text, length, look)
        if len(text) <= LOOK:
            return list(chain.from_iterable(map(self._words.__getitem__, chunks)))
        return list(self._one_by_one(chunks, look))

    def _one_by_one(self, chunks: Iterable[str], look: Callable[[], None]) -> Iterator[str]:
        """Yield the words of chunks, of which long ones are read in parts."""
        count = 0
        for chunk in chunks:
            parts = [chunk[at : at + _LONG] for at in range(0, len(chunk), _LONG)]
            for part in parts:
                if len(parts) > 1:
                    look()
                for word in self._words[part]:
                    count += 1
                    if not count % LOOK:
                        look()
                    yield word

    def chunks(
        self, text: str, length: int | None = None, look: Callable[[], None] = lambda: None
    ) -> list[str]:
        """Divide a text at its spaces into chunks, whose words `of_chunk` returns; see `words`."""
        # A comma or a full stop at the end says nothing, and texts share more chunks without it.
        return self.whispered(text, look)[:length].replace(", ", " ").replace(". ", " ").split()

    def of_chunk(self, chunk: str) -> Iterable[str]:
        """Return the words of a chunk in lower case."""
        if chunk.isascii() and chunk.isalpha() and chunk[1:].islower():  # most of them
            return (chunk.lower(),)
        simple = _simple().fullmatch(chunk) if chunk.isascii() else None
        if simple and simple[2]:
            return simple[2].lower().split("-")
        if simple and (word := simple[1].lower()) not in self.stopped:  # else perhaps an acronym
            return (word,)
        return self._each(chunk)

    def whispered(self, text: str, look: Callable[[], None] = lambda: None) -> str:
        """Return a text in lower case if it is all in capitals and contains stop words."""
        if not text.isupper():
            return text
        lower = text.lower()
        if len(lower) != len(text) or lower.isupper():  # ℝ has no lower case
            return text
        chunks = lower.replace(", ", " ").replace(". ", " ").split()
        stopped = filter(self.stopped.__contains__, self._one_by_one(chunks, look))
        return lower if len([*islice(stopped, 2)]) > 1 else text

    def placed(self, text: str) -> Iterator[Placed]:
        """Yield every word of `words` with its character positions: (begin, end, word).

        A whole follows its parts and has the place of all of them.
        """
        text = self.whispered(text)
        plain, runs = self._runs(text)
        origin = None
        if not text.isascii():
            origin = [at for at, char in enumerate(_joined(text)) for _ in self._plain[ord(char)]]
            origin.append(len(text))
        for run in runs.finditer(plain):
            for at in range(run.start(), run.end(), _LONG):
                for begin, end, word in self._placed[plain[at : min(at + _LONG, run.end())]]:
                    if origin is None:
                        yield at + begin, at + end, word
                    else:
                        last = origin[at + end - 1]
                        yield origin[at + begin], max(last + 1, origin[at + end]), word

    def _each(self, chunk: str) -> Iterator[str]:
        """Yield the words of `placed` without their places."""
        plain, runs = self._runs(chunk)
        for run in runs.findall(plain):
            for _, _, word in self._split(run):
                yield word

    def fold(self, text: str) -> str:
        """Lower the case, resolve compatibility forms and remove accents; see the module."""
        return unaccented(self._spelled(self._runs(text)[0]))

    def runs(self, text: str) -> list[str]:
        """Return the runs of a plain text, with their signs: words, emoji and what signs join."""
        plain, runs = self._runs(text)
        return runs.findall(plain)

    def _runs(self, text: str) -> tuple[str, re.Pattern[str]]:
        """Return a plain text and the pattern of its runs."""
        if text.isascii():  # nine texts in ten
            # The other pattern takes half a millisecond to compile, and most queries need none.
            only_letters = text.replace(" ", "").isalpha()
            return text, _between_spaces() if only_letters else self._ascii_run
        return _joined(text).translate(self._plain), self._run

    @cached_property
    def _ascii_run(self) -> re.Pattern[str]:
        return re.compile(_run("[A-Za-z0-9]"))

    @cached_property
    def _run(self) -> re.Pattern[str]:
        return re.compile(f"{_EMOJI}|{self._unspaced}|{_run(self._letters())}")

    @cached_property
    def _unspaced_run(self) -> re.Pattern[str]:
        return re.compile(self._unspaced)

    def _split(self, run: str) -> list[Placed]:
        """Return the words of a run of a plain text with their places in it."""
        if run.isascii():
            if run.isalnum():
                return self._parts(0, run)
        elif run[0].isalnum() and self._unspaced_run.match(run):
            return [(a, b, self.key(word)) for a, b, word in self._split_unspaced(run)]
        elif not any(map(str.isalnum, run)) or "\u20e3" in run:
            return list(_emoji(run))
        found, begin, end = list[Placed](), 0, len(run)
        for part in _part().finditer(run):
            found += self._parts(part.start(), part[1])
            if part[0] != part[1]:
                found.append((*part.span(), self.key(self._spelled(part[0]))))
            begin, end = part.span()
        if (begin, end) != (0, len(run)) and len(run) <= LONGEST and _joining().search(run):
            whole = re.sub("^v(?=[0-9])", "", self._spelled(run).removesuffix("'s"))  # v1.2 is 1.2
            whole = whole.replace(HALF_SPACE, "")
            found.append((0, len(run), self.key(whole)))
        return found

    def _parts(self, at: int, word: str) -> list[Placed]:
        """Return a word without signs, after its parts if it is in camel case."""
        spelled = self._spelled(word)
        begin, end = self._bare(spelled)
        whole = at, at + len(word), self._chosen(word[begin:end], spelled[begin:end])
        if word[1:].islower() or word.isupper() or not word.isascii():
            return [whole]
        parts, place, found = _camel().split(word[begin:end]), at + begin, list[Placed]()
        for part in parts if len(parts) > 1 else ():
            if len(part) > 1:  # one letter says too little
                found.append((place, place + len(part), self._spelled(part)))
            place += len(part)
        return [*found, whole]

    def affixes(self, written: str) -> tuple[str, str]:
        """Return what is left out before and behind a word as it is written, in lower case.

        >>> splitter = Splitter(lambda: "[a-z]", "(?!)", lambda _: (), lambda word: (2, len(word)))
        >>> splitter.affixes("L'or")
        ("l'", '')
        """
        spelled = self._spelled(self._runs(written)[0])
        begin, end = self._bare(spelled)
        return spelled[:begin], spelled[end:]

    def is_unspaced(self, text: str) -> bool:
        """Return whether a text is a run of letters between which no spaces are written."""
        return self._unspaced_run.fullmatch(self._runs(text)[0]) is not None

    def unspaced(self, text: str) -> Iterator[str]:
        """Yield the runs of letters of a text between which no spaces are written."""
        for run in self._unspaced_run.findall(self._runs(text)[0]):
            yield respelled(unicodedata.normalize("NFC", run))

    def _spelled(self, plain: str) -> str:
        """Return a word of a plain text in lower case, with its accents."""
        if plain.isascii():
            return plain.lower().replace("`", "'")
        return respelled(unicodedata.normalize("NFC", plain.casefold())).replace("`", "'")

    def _chosen(self, plain: str, spelled: str) -> str:
        """Return the form of a word to search by: in capitals, with accents, or usually neither.

        Args:
            plain: the word in a plain text.
            spelled: the word in lower case, with its accents.
        """
        if spelled in self.stopped and self.is_acronym(plain):
            return plain
        return self.key(spelled)

    def is_acronym(self, word: str) -> bool:
        """Return whether a stop word in capitals is an acronym: WHO, but not AND, OR and NOT."""
        if "'" in word or "`" in word:  # DON'T
            return False
        return len(word) > 1 and word.isupper() and word not in ("AND", "OR", "NOT")

    @cached_property
    def _unaccented(self) -> frozenset[str]:
        return frozenset(map(unaccented, self.stopped))

    def is_like_stopped(self, word: str) -> bool:
        """Return whether a word is a stop word if capitals and accents do not count."""
        return unaccented(word.lower()) in self._unaccented

    def key(self, word: str) -> str:
        """Return a word without accents, unless only these tell it from a stop word.

        Args:
            word: a word in lower case, or an acronym.
        """
        lower = word.lower()
        if lower in self.stopped:
            return word
        if lower.isascii():
            return lower
        folded = unaccented(lower)
        return lower if folded in self.stopped else folded


def readable(text: str) -> str:
    """Return a text as it was written, without invisible characters and with ' as apostrophe."""
    plain = re.sub(_INVISIBLE, "", text).replace("\u200d", "").replace(HALF_SPACE, "")
    return plain.translate(_APOSTROPHE)


def _joined(text: str) -> str:
    """Return a text in which zero-width joiners join emoji only; no character changes its place.

    A half space is left between Arabic letters only.
    """
    text = join_acronyms(text)
    if HALF_SPACE in text:
        text = re.sub(_NO_HALF_SPACE, "\u2060", text)
    return re.sub(_JOINER, "\u2060", text) if "\u200d" in text else text


def _run(letter: str) -> str:
    """Return the pattern of a word, or of several that signs join, in a plain text."""
    part = rf"(?:{letter})+(?:['`](?:{letter})+)*(?:(?:\+\+?|#)(?![+#]|{letter}))?"
    return f"{_BEFORE}?(?:{part}(?:(?:{_SIGN})(?={letter}))?)+"


def _emoji(run: str) -> Iterator[Placed]:
    """Yield the emoji that one is made of, and the whole."""
    parts = [(*part.span(), part[0]) for part in re.finditer(_EMOJI_PARTS, run)]
    yield from parts
    if [part[2] for part in parts] != [run]:
        yield 0, len(run), run
