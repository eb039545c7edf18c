"""Index a collection as the network's row of each word form."""

from dataclasses import replace

from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.rankers.conformer_kernel.terms import count_truncated, term_rows
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.rankers.conformer_kernel.network import ROWS, spellings


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:
    """Return the words that the vocabulary must have, which are those the network knows."""
    return tuple(spellings(source, name))


def index(job: IndexJob) -> RankerEntry:
    """Write the row of each word form, and copy the network."""
    job.copy(leave_out=(ROWS,))
    known = known_words(job.source, job.name)
    rows = term_rows(known, job.analysed.analyzer.vocabulary, job.settings.field)
    job.writer.array(job.folder + ROWS, rows)
    return replace(job.entry, measured={"truncated": count_truncated(job)})


INDEXER = Indexer(index, known_words, indexed=(ROWS,))
