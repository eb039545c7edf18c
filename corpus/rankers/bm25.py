"""Index a collection as postings with precomputed impacts."""

import numpy as np

from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.building.writer import INDEX_FILES
from ranklet.corpus.indexing.impacts import in_fewer_bits
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.rankers.bm25 import STATISTICS, BM25Settings


def index(job: IndexJob) -> RankerEntry:
    """Write the impact index of a collection."""
    settings: BM25Settings = job.settings
    postings = job.analysed.bm25_postings(settings)
    average = postings.average_length
    if job.base is not None:
        average = float(job.base.array(job.folder + STATISTICS, np.float64, (1,))[0])
    exact = postings.bm25(settings.k1, settings.b, average)
    job.writer.index(job.folder, in_fewer_bits(exact, settings.impacts))
    job.writer.array(job.folder + STATISTICS, np.array([average], np.float64))
    return job.entry


INDEXER = Indexer(index, indexed=(*INDEX_FILES, STATISTICS))
