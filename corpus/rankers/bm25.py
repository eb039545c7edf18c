"""Index a collection as postings with precomputed impacts."""

import numpy as np

from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.building.writer import INDEX_FILES
from ranklet.corpus.indexing.analysed import compute_term_impacts
from ranklet.corpus.indexing.impacts import in_fewer_bits
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.lexical.field_index import (
    AVERAGES,
    COUNTS,
    FOLDER,
    LENGTHS,
    TEXT_AMOUNTS,
    FieldIndex,
)
from ranklet.runtime.rankers.bm25 import STATISTICS, BM25Settings


def index(job: IndexJob) -> RankerEntry:
    """Write the impact index of a collection."""
    settings: BM25Settings = job.settings
    postings = job.analysed.bm25_postings(settings)
    average, averages = postings.average_length, None
    if job.base is not None:
        average = float(job.base.array(job.folder + STATISTICS, np.float64, (1,))[0])
        if settings.fields is not None:
            shape = (len(settings.fields),)
            averages = job.base.array(job.folder + AVERAGES, np.float64, shape).tolist()
    exact = compute_term_impacts(settings, postings, average, averages)
    job.writer.index(job.folder, in_fewer_bits(exact, settings.impacts))
    job.writer.array(job.folder + STATISTICS, np.array([average], np.float64))
    if isinstance(exact, FieldIndex):
        _write_fields(job, exact)
    return job.entry


def _write_fields(job: IndexJob, index: FieldIndex) -> None:
    """Write what the index has of each field, so that explanations and other weights know it."""
    job.writer.array(job.folder + TEXT_AMOUNTS, index.text)
    job.writer.array(job.folder + AVERAGES, np.array(index.averages, np.float64))
    for at, column in enumerate(index.columns):
        job.writer.array(job.folder + COUNTS.format(at), column.counts)
        job.writer.array(job.folder + LENGTHS.format(at), column.lengths)


INDEXER = Indexer(index, indexed=(*INDEX_FILES, STATISTICS, FOLDER))
