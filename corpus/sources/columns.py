"""Find out which fields of a record hold the id, the title and the text."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from shlex import quote
from typing import Any

from ranklet.corpus.sources.cells import Cell, is_missing
from ranklet.corpus.sources.guessed_types import Guesses
from ranklet.corpus.sources.options import SourceOptions
from ranklet.runtime.ground.errors import InputError

# The names of a column that is a title, a question, the name of something, a text, or what stands
# before a text, by language and in the order of preference, as `_spell` returns them. Some are
# those of BEIR, Pyserini, LangChain, MS MARCO's and Wikipedia's tables.
_NAMES: Mapping[str, tuple[str, str, str, str, str]] = {
    "en": (
        "title headline heading subject", "question prompt instruction",
        "name product term word topic concept caption",
        "text contents content body passage document page_content context article description "
        "review answer response completion output reply solution abstract summary bio biography "
        "sentence comment message definition meaning explanation",
        "query input abstract summary subtitle teaser excerpt highlights",
    ),
    "de": ("titel uberschrift betreff", "frage",
           "bezeichnung artikelbezeichnung produktbezeichnung artikelname produktname artikel "
           "produkt",
           "inhalt beschreibung artikelbeschreibung produktbeschreibung langtext antwort",
           "zusammenfassung"),
    "fr": ("titre sujet", "", "nom designation libelle intitule produit nom_du_produit",
           "texte contenu reponse", "resume"),
    "es": ("titulo asunto", "pregunta", "nombre denominacion nombre_del_producto producto articulo",
           "texto contenido descripcion respuesta", "resumen"),
    "it": ("titolo oggetto", "domanda", "nome denominazione nome_prodotto prodotto articolo",
           "testo contenuto descrizione risposta", "riassunto"),
    "pt": ("assunto", "pergunta", "designacao nome_do_produto produto artigo",
           "conteudo descricao resposta", "resumo"),
    "nl": ("onderwerp", "vraag", "naam artikelnaam productnaam benaming",
           "tekst inhoud beschrijving omschrijving antwoord", "samenvatting"),
    "pl": ("tytul temat", "pytanie", "nazwa nazwa_produktu nazwa_towaru produkt towar",
           "tresc opis opis_produktu odpowiedz", "streszczenie"),
    "ru": ("заголовок тема", "вопрос", "название", "текст содержание описание ответ", "аннотация"),
    "ja": ("タイトル", "質問", "", "本文 内容 説明 回答", "要約"),
    "zh": ("標題 标题", "问题 問題", "名称", "正文 內容 描述 答案", "摘要"),
}  # fmt: skip
_TITLES, _QUESTIONS, _OBJECTS, TEXTS, _LEADS = (
    tuple(" ".join(names).split()) for names in zip(*_NAMES.values(), strict=True)
)
TITLES = (*_TITLES, *_QUESTIONS, *_OBJECTS, "summary")
LEADS = (*_QUESTIONS, *_LEADS)
IDS = (
    "_id", "id", "doc_id", "docid", "document_id", "docno", "pid", "passage_id", "uid", "key",
)  # fmt: skip
# Those that shops give to what they sell, of which a column is the id only if it has no gaps.
_CODES = (
    "sku artikelnr artikelnummer artikel_nr artikel_nummer art_nr artnr produktnr produktnummer "
    "bestellnr bestellnummer reference ref ref_produit code_produit code_article referencia "
    "codigo codigo_producto codigo_produto codice codice_articolo codice_prodotto artikelcode "
    "productcode indeks kod kod_produktu numer_katalogowy nr_katalogowy артикул 品番 商品番号 "
    "商品编号 item_number product_code part_number mpn gtin gtin13 ean ean13 upc isbn"
)
_NUMBERS = tuple(_CODES.split())
NONE = "-"  # the name of no column
SAMPLE = 100  # values of a column whose words are counted
BEGINNING = 400  # characters of a value whose words are counted
WORDS = 3  # a column of texts has more words per value on average
MOST_TITLE = 30  # words per value of a question or a summary that serves as title
_MANY = 10_000  # columns; names of more are probably data

_COMPARED = 10_000  # values of a column that are compared with each other
_CODE = re.compile(r"(?=.*\d)(?!\d+[.,]\d+$|\d{1,4}[-./]\d\d?[-./]\d{1,4}$)[\w./-]{2,40}")
_HTML = re.compile(
    r"</?(?:p|br|b|i|u|a|em|strong|small|su[bp]|span|font|div|h[1-6]|ul|ol|li|dl|d[td]|img|hr"
    r"|table|t[rdh]|tbody|thead)(?:\s[^<>]*)?/?>|&(?:#\d{2,6}|#x[\da-f]{2,6}|[a-z]{2,8}\d?);",
    re.IGNORECASE,
)  # fmt: skip
_LETTER = re.compile(r"[^\W\d_]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
# Words before and after a known name that change nothing, as in product_name and answer_text.
_BEFORE = re.compile(
    "^(article|book|company|course|doc|document|event|faq|film|game|item|job|movie|news|page|paper"
    "|place|post|product|project|recipe|service|song|ticket|video)_"
)
_AFTER = re.compile("_(text|body|content|html|markdown|md|en)$")


@dataclass(frozen=True)
class Columns:
    """The names of the fields; empty if there is none.

    Attributes:
        text: the columns whose values make the text, in this order.
        title: the column of the title.
        id: the column of the id.
        unsearched: other columns that have texts.
    """

    text: tuple[str, ...]
    title: str = ""
    id: str = ""
    unsearched: tuple[str, ...] = ()
    code: str = ""  # a column that could be the id

    def __str__(self) -> str:
        parts = [f"the text is {' and '.join(map(repr, self.text))}"]
        parts.append(f"the title is {self.title!r}" if self.title else "there is no title")
        parts.append(f"the id is {self.id!r}" if self.id else "ids are numbered")
        if self.code:
            parts.append(f"pass --id-column {quote(self.code)} if that is the id")
        if any(len(name.split()) > WORDS for name in self.text):
            parts.append("pass --no-header if that is a text and not a name")
        if not self.unsearched:
            return ", ".join(parts)
        named, all_ = ", ".join(map(repr, self.unsearched)), ",".join(self.text + self.unsearched)
        included = f"(to include, pass --text-column {all_!r})"
        return f"{', '.join(parts)}; not searched: {named} {included}"


class Survey:
    """What the columns of a source hold, counted over all records."""

    def __init__(self) -> None:
        self.present: dict[str, int] = {}  # how many values each column has that are not missing
        self.outer = set[str]()  # columns outside of an object "metadata"
        self.guesses: dict[str, Guesses] = {}  # of columns with cells
        self._words: dict[str, int] = {}  # of the first values
        self._tags: dict[str, int] = {}  # how many of them have tags or entities of HTML
        self._codes: dict[str, set[str] | None] = {}  # of the first values, if all differ
        self.records = 0

    def add(self, fields: Mapping[str, Any], outer: Iterable[str]) -> None:
        """Add a record with plain fields.

        Args:
            fields: the fields by name, those in an object "metadata" next to the others.
            outer: names of the others.
        """
        self.outer.update(outer)
        self.records += 1
        for name, value in fields.items():
            count = self.present.get(name)
            if count is None:
                if len(self.present) >= _MANY:
                    continue
                count = self.present[name] = self._words[name] = self._tags[name] = 0
                self._codes[name] = set()
            if not is_missing(value):
                if count < SAMPLE:
                    self._words[name] += words_in(value)
                    self._tags[name] += has_tags(value)
                self.present[name] = count + 1
                if type(value) is Cell:
                    self.guesses.setdefault(name, Guesses()).add(value)
                codes = self._codes[name]
                if codes is not None and len(codes) < _COMPARED:
                    codes.add(value if isinstance(value, str) and _CODE.fullmatch(value) else "")
                    if "" in codes or len(codes) == min(count, _COMPARED):
                        self._codes[name] = None

    @property
    def is_settled(self) -> bool:
        """Whether no other records with the same columns could change what is chosen."""
        texts = sum(is_known(each, TEXTS) for each in self.present)
        ids = sum(any(name in IDS for name in _spell(each)) for each in self.present)
        return texts == 1 and ids <= 1 and min(self.present.values()) >= SAMPLE

    def has_html(self, name: str) -> bool:
        """Whether most values of a column have tags or entities of HTML."""
        return 2 * self._tags[name] > min(self.present[name], SAMPLE)

    def has_codes(self, name: str) -> bool:
        """Whether no record lacks a value of a column, and all look like codes and differ."""
        return self.present[name] == self.records > 1 and bool(self._codes[name])

    def words(self, name: str) -> float:
        """Return the mean number of words of a column's values that are not missing."""
        counted = min(self.present[name], SAMPLE)
        return self._words[name] / counted if counted else 0.0

    def filled(self, names: Iterable[str]) -> list[str]:
        """Return those columns that have at least half as many values as the fullest of them."""
        names = list(names)
        most = max((self.present[name] for name in names), default=0)
        return [name for name in names if 2 * self.present[name] >= most]


def choose_columns(survey: Survey, options: SourceOptions, name: str) -> Columns:
    """Return the chosen columns, and guess those that the options do not name.

    A text is the first known name, or else the column with the most words. A column counts if any
    record has it; as text or id it needs half as many values as the fullest column, at least.

    Args:
        survey: the survey of all records.
        options: names that the user gave.
        name: the source's name, for messages.

    Raises:
        InputError: a named column does not exist, or no column looks like a text.
    """
    given = _given_texts(options.text_column, survey.present)
    _check_named(survey, given, options, name)
    used = {*given, options.title_column, options.id_column}
    free = [each for each in survey.present if each not in used and each in survey.outer]
    text = given or _texts(survey, free)
    if not text:
        raise InputError(
            f"no column of {name} looks like a text; it has {listed(survey.present)}. Pass "
            "--text-column with one of them, or --no-header if the first line of the table is data"
        )
    # A column that is named as the id stays the title, if it would be.
    titles = [each for each in (*free, options.id_column) if each in survey.present]
    title = options.title_column or _title(survey, _without(titles, *text))
    free = _without(free, *text, title)
    id_ = options.id_column or _id(survey, free)
    if not given:
        text = (*(each for each in _without(free, id_) if _is_lead(survey, each)), *text)
    others = _without(survey.present, *text, title, id_)
    code = "" if id_ else next(filter(survey.has_codes, others), "")
    title, id_ = ("" if column == NONE else column for column in (title, id_))
    return Columns(text, title, id_, tuple(each for each in others if _is_text(survey, each)), code)


def _without(names: Iterable[str], *others: str) -> list[str]:
    return [each for each in names if each not in others]


def _check_named(survey: Survey, texts: Sequence[str], options: SourceOptions, name: str) -> None:
    """Raise InputError unless the columns exist that the user has named; a dash names none."""
    named = [("text", each) for each in texts]
    named += [("title", options.title_column or NONE), ("id", options.id_column or NONE)]
    for role, column in named:
        if column not in survey.present and (column != NONE or role == "text"):
            has = listed(survey.present)
            raise InputError(f"{name} has no column {column!r} (--{role}-column); it has {has}")


def _given_texts(given: str, present: Mapping[str, int]) -> tuple[str, ...]:
    """Return the columns of the text that the user has named; a name may have commas."""
    if not given or given in present:
        return (given,) if given else ()
    return tuple(dict.fromkeys(part.strip() for part in given.split(",")))


def _texts(survey: Survey, free: Sequence[str]) -> tuple[str, ...]:
    known = survey.filled(each for each in free if is_known(each, TEXTS))
    if known:
        return (min(known, key=lambda field: _rank(field, TEXTS)),)
    long = survey.filled(each for each in free if survey.words(each) >= WORDS)
    return (max(long, key=survey.words),) if long else ()


def _title(survey: Survey, free: Sequence[str]) -> str:
    """Return the column of titles, which may all be missing if no other column has one."""
    known = [each for each in free if is_known(each, TITLES) and _is_short(survey, each)]
    return min(known, key=lambda each: (not survey.present[each], _rank(each, TITLES)), default="")


def _id(survey: Survey, free: Sequence[str]) -> str:
    """Return the column of ids; product_id may be another's id, so names are not shortened."""
    known = {name: each for each in reversed(free) for name in _spell(each) if name in IDS}
    full = survey.filled(known.values())
    if found := next((known[name] for name in IDS if known.get(name) in full), ""):
        return found
    numbers = {name: each for each in free for name in _spell(each) if name in _NUMBERS}
    whole = [each for each in numbers.values() if survey.present[each] == survey.records]
    return next((numbers[name] for name in _NUMBERS if numbers.get(name) in whole), "")


def _is_short(survey: Survey, field: str) -> bool:
    return not is_known(field, LEADS) or survey.words(field) <= MOST_TITLE


def _is_lead(survey: Survey, field: str) -> bool:
    return is_known(field, LEADS) and (survey.words(field) > 0 or not survey.present[field])


def _is_text(survey: Survey, field: str) -> bool:
    """Return whether a column has texts, by their length or by its name."""
    words = survey.words(field)
    return words >= WORDS or (words > 0 and is_known(field, (*TITLES, *TEXTS)))


def is_known(field: str, names: Sequence[str]) -> bool:
    """Return whether a field has one of some names."""
    return _rank(field, names) < len(names)


def _rank(field: str, names: Sequence[str]) -> int:
    return next((names.index(each) for each in spellings(field) if each in names), len(names))


@lru_cache(4096)
def spellings(field: str) -> tuple[str, ...]:
    """Return the known names that a field may stand for, the likeliest first.

    >>> spellings("product-name"), spellings("Answer text"), spellings("Título")
    (('product_name', 'name'), ('answer_text', 'answer'), ('titulo',))
    """
    written = _spell(field)
    before, after = (tuple(each.sub("", name) for name in written) for each in (_BEFORE, _AFTER))
    return tuple(dict.fromkeys((*written, *before, *after)))


def _spell(field: str) -> tuple[str, ...]:
    """Return a name in small letters without accents, and with its capitals as new words.

    >>> _spell("DocNo")
    ('docno', 'doc_no')
    """
    short = field.strip()[:100]
    divided = re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", short)
    return tuple(dict.fromkeys(_without_accents(each) for each in (short, divided)))


def _without_accents(name: str) -> str:
    marked = unicodedata.normalize("NFKD", name.lower()).replace("ł", "l")
    plain = "".join(each for each in marked if unicodedata.category(each) != "Mn")
    return re.sub(r"[\s.\-]+", "_", unicodedata.normalize("NFC", plain))


def has_tags(value: object) -> bool:
    """Return whether the beginning of a value has tags or entities of HTML.

    >>> has_tags("5&nbsp;l<br>"), has_tags("List<T> & a < b")
    (True, False)
    """
    return isinstance(value, str) and _HTML.search(value, 0, BEGINNING) is not None


def words_in(value: object) -> int:
    """Return how many words with a letter the beginning of a plain value has.

    A list has as many as its first text. Two letters of a script without spaces are a word.

    >>> words_in("in 2024 or so"), words_in("https://a.b/c-d"), words_in(["a", "b"]), words_in(7)
    (3, 1, 1, 0)
    """
    if isinstance(value, list):
        return words_in(value[0]) if value and isinstance(value[0], str) else 0
    if not isinstance(value, str):
        return 0
    begin = value[:BEGINNING]
    words = sum(1 for each in begin.split() if _LETTER.search(each))
    return words + len(_UNSPACED.findall(begin)) // 2


def listed(fields: Iterable[str]) -> str:
    """Return names of columns for a message."""
    shown = [repr(field[:40]) for field in fields]
    return ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "") or "no columns"
