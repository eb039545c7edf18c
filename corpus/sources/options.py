"""Options that say how a source of documents is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ranklet.corpus.sources.column_types import check_types, read_types
from ranklet.runtime.bundles.manifest import Splitting
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Checked,
    Idle,
    declare,
    integer,
    one_of,
    read_from,
    switch,
    text,
)

FORMATS = ("auto", "csv", "tsv", "jsonl", "json", "parquet", "xlsx", "text")


@dataclass(frozen=True, kw_only=True)
class SourceOptions(Checked):
    """How documents are read and split into passages."""

    GROUP = "documents"
    IDLE: ClassVar[Idle] = {"overlap_words": ("passage_words", 0)}

    text_column: str = text("", "column of the text, or several with commas; guessed by default")
    title_column: str = text("", "column of the title, - for none; guessed by default")
    id_column: str = text("", "column of the id, - for numbers; guessed by default")
    metadata: str = text("all", "other columns to keep, separated by commas, all, or none")
    types: Mapping[str, str] | None = read_from(
        None, "types of columns, such as price=number,date=date,tags=list", read_types
    )
    format: str = one_of("auto", FORMATS, "format of the source, auto follows the file's name")
    encoding: str = text("utf-8", "encoding of the files")
    header: bool = switch(True, "the first line of a table is data", flag="--no-header")
    whole_pages: bool = switch(False, "search menus, headers and footers of HTML pages, too")
    html: bool | None = declare(
        None, "read cells as HTML; by default those of columns where most cells have tags", bool
    )
    passage_words: int = integer(180, "longest passage in words; 0 splits no text", 0)
    overlap_words: int = integer(30, "words that a passage may repeat of the one before", 0)
    skip_bad: bool = switch(False, "leave out documents that cannot be used")

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        kept = self.metadata_fields()
        for name in check_types({} if self.types is None else self.types):
            if kept is not None and name not in kept:
                raise InputError(
                    f"the type of {name!r} has no effect, because --metadata {self.metadata} "
                    "leaves that column out; name it there, or leave its type out"
                )
        if self.passage_words and self.overlap_words * 2 > self.passage_words:
            raise InputError(
                f"overlap_words is {self.overlap_words}, more than half of passage_words, which is "
                f"{self.passage_words}; pass --overlap-words {self.passage_words // 2} or less"
            )
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            raise InputError(
                f"unknown encoding {self.encoding!r}; give one that Python knows, such as utf-8, "
                "utf-16, latin-1 or cp1252"
            ) from None

    @property
    def splitting(self) -> Splitting:
        """How documents are split into passages."""
        return Splitting(self.passage_words, self.overlap_words if self.passage_words else 0)

    def metadata_fields(self) -> tuple[str, ...] | None:
        """Return the names of the other fields to keep, or None for all."""
        if self.metadata == "all":
            return None
        names = [] if self.metadata == "none" else self.metadata.split(",")
        return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


# Trained rankers learned from whole documents, so `index` and `train` split no text by default.
WHOLE = SourceOptions(passage_words=0, overlap_words=0)
