"""Find out which fields of a record hold the id, the title and the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ranklet.runtime.errors import InputError
from ranklet.training.data.sources.options import SourceOptions

# Names in the order of preference, in lower case. Some are those of BEIR, Pyserini, LangChain,
# MS MARCO's and Wikipedia's tables.
IDS = ("_id", "id", "doc_id", "docid", "document_id", "docno", "pid", "passage_id", "uid", "key")
TITLES = ("title", "headline", "heading", "name", "subject")
TEXTS = (
    "text", "contents", "content", "body", "passage", "document", "page_content", "abstract",
    "article", "description", "review", "answer", "summary", "sentence", "comment", "message",
)  # fmt: skip
NONE = "-"  # the name of no column
SAMPLE = 100  # records that a guess looks at
WORDS = 3  # a column of texts has more words per value on average


@dataclass(frozen=True)
class Columns:
    """The names of the fields; empty if there is none."""

    text: str
    title: str = ""
    id: str = ""

    def __str__(self) -> str:
        parts = [f"the text is {self.text!r}"]
        parts.append(f"the title is {self.title!r}" if self.title else "there is no title")
        parts.append(f"the id is {self.id!r}" if self.id else "ids are numbered")
        if len(self.text.split()) > WORDS:
            parts.append("pass --no-header if that is a text and not a name")
        return ", ".join(parts)


def choose_columns(
    records: Sequence[Mapping[str, Any]], options: SourceOptions, name: str
) -> Columns:
    """Return the chosen columns, and guess those that the options do not name.

    A text is the first known name, or else the column of strings with the most words.

    Args:
        records: the first records of the source.
        options: names that the user gave.
        name: the source's name, for messages.

    Raises:
        InputError: a named column does not exist, or no column looks like a text.
    """
    present = dict.fromkeys(field for record in records for field in record)
    for flag in ("text_column", "title_column", "id_column"):
        given = getattr(options, flag)
        if given and given not in present and (given != NONE or flag == "text_column"):
            raise InputError(
                f"{name} has no column {given!r} (--{flag.replace('_', '-')}); it has "
                f"{listed(present)}"
            )
    used = {options.text_column, options.title_column, options.id_column}
    free = [field for field in present if field not in used]
    text = options.text_column or _known(free, TEXTS) or _longest(records, free)
    if not text:
        raise InputError(
            f"no column of {name} looks like a text; it has {listed(present)}. Pass --text-column "
            "with one of them, or --no-header if the first line of the table is data"
        )
    free = [field for field in free if field != text]
    title = options.title_column or _known(free, TITLES)
    free = [field for field in free if field != title]
    name = options.id_column or _known(free, IDS)
    return Columns(text, *("" if column == NONE else column for column in (title, name)))


def _known(fields: Sequence[str], names: Sequence[str]) -> str:
    lower = {field.strip().lower(): field for field in reversed(fields)}
    return next((lower[name] for name in names if name in lower), "")


def _longest(records: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> str:
    def mean_words(field: str) -> float:
        values = [record.get(field) for record in records]
        return fmean([len(value.split()) if isinstance(value, str) else 0 for value in values])

    best = max(fields, key=mean_words, default="")
    return best if best and mean_words(best) >= WORDS else ""


def listed(fields: Mapping[str, None]) -> str:
    """Return names of columns for a message."""
    shown = [repr(field[:40]) for field in fields]
    return ", ".join(shown[:12]) + (", …" if len(shown) > 12 else "") or "no columns"
