"""Let tables encode queries where no network may read them."""

from itertools import chain
from pathlib import Path

from ranklet.corpus.progress import say
from ranklet.export.exporter import exporter
from ranklet.export.learning.budget import Budget
from ranklet.export.learning.options import LearnOptions
from ranklet.export.learning.parts import Parts
from ranklet.export.learning.work import Work
from ranklet.export.query_tables.options import QUERIES
from ranklet.export.query_tables.texts import short_texts
from ranklet.export.query_tables.writing import with_query_tables
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.errors import RankletError

SHARE = 0.25  # of the minutes of learning, which tables take at most


def with_tables(
    files: BundleFiles, parts: Parts, options: LearnOptions, work: Work, budget: Budget
) -> BundleFiles:
    """Return the bundle with a table in place of each network that may not read queries.

    Tables learn from its documents and from the queries to learn from and to tune on.
    """
    entries = files.manifest.rankers.items()
    found = [(name, exporter(entry.kind).tables) for name, entry in entries]
    able = [name for name, tables in found if tables and not tables.encodes(files.settings(name))]
    if options.network or not able:
        return files
    say(f"learning a table that encodes queries in place of {', '.join(able)}")
    documents = files.need_documents()
    titled = (documents.record(number)[1:] for number in range(len(documents)))
    asked = [(query.text, "") for part in (parts.learn, parts.tune) for query in part]
    minutes = min(QUERIES.table_minutes, SHARE * budget.left() / 60)

    def make(target: Path) -> None:
        texts = short_texts(chain(asked, titled))
        with_query_tables(str(files.path), target, texts, max(0.0, minutes))

    try:
        return BundleFiles(work.bundle("tables", make))
    except RankletError as error:
        say(f"without a table of queries: {error}")
        return files
