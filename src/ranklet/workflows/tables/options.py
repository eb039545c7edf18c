"""Options of what encodes queries."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from ranklet.corpus.collections.collection import is_collection
from ranklet.corpus.sources.query_texts import queries_to_learn
from ranklet.corpus.sources.source import Source
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Checked,
    Idle,
    as_list,
    number,
    one_of,
    read_each,
    read_from,
)
from ranklet.workflows.tables.texts import short_texts

SIDES = ("network", "table")


@dataclass(frozen=True, kw_only=True)
class QueryOptions(Checked):
    """What encodes queries where a network encodes documents.

    Attributes:
        queries: ``network``, or ``table`` for one vector per token, so that queries need no
            onnxruntime.
        table_minutes: how long a table may learn, unless it is kept from an earlier time.
        pairs: texts with a column ``vector``, from which a table learns where vectors came from
            outside, such as old queries that the owner has encoded.
        texts: files or folders of texts from which it learns, too; of folders of judged queries,
            the queries of the split train as well.
    """

    GROUP = "queries"
    IDLE: ClassVar[Idle] = {"table_minutes": ("queries", "network")}

    queries: str = one_of(
        SIDES[0],
        SIDES,
        "what encodes queries: the model's network, or a table with one vector per token, which "
        "learns from the network, so that queries need no onnxruntime",
    )
    table_minutes: float = number(
        5.0, "minutes in which a table learns, unless an earlier build has kept it", 0.01, 60
    )
    pairs: Any = read_from(
        None, "file of short texts with a column vector, by the model of the vectors from outside, "
        "from which a table of queries learns, too", str
    )  # fmt: skip
    texts: Sequence[str | Path] = read_each(
        (), "files or folders of texts from which a table of queries learns, beside the documents",
        tuple, flag="--texts", many="+",
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Check every value, and that texts are learned from."""
        super().__post_init__()
        given = [self.texts] if isinstance(self.texts, str | Path) else self.texts
        object.__setattr__(self, "texts", tuple(as_list(given, "texts", "give files of texts")))
        if self.texts and not self.table:
            raise InputError("texts have no effect unless queries is table; leave them out")
        if self.pairs is not None and not self.table:
            raise InputError("pairs have no effect unless queries is table; leave them out")

    @property
    def table(self) -> bool:
        """Whether a table encodes queries."""
        return self.queries == SIDES[1]

    def learned_from(
        self, titled: Iterable[tuple[str, str]] = (), source: object = None
    ) -> list[str]:
        """Return the texts from which a table learns: queries, and short parts of other texts.

        Queries are those of the split train of `texts` and of the source, where these are folders
        in BEIR form.

        Args:
            titled: titles and texts of the documents.
            source: where they are from, if it is a path.

        Raises:
            CollectionError: a file cannot be read.
        """
        places = [source, *self.texts] if isinstance(source, str | Path) else self.texts
        queries = ((query, "") for place in places for query in queries_to_learn(place))
        return short_texts(chain(queries, titled, self._titled()))

    def _titled(self) -> Iterator[tuple[str, str]]:
        """Yield the title and the text of each passage of the files, if they have documents."""
        for path in self.texts:
            if is_collection(path) or not queries_to_learn(path):
                for each in Source(path).documents():
                    yield each.title, each.text


QUERIES = QueryOptions()
