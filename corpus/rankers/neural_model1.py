"""Index a collection as the table of all pairs; the network is copied."""

from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.rankers import model1
from ranklet.runtime.bundles.manifest import RankerEntry


def index(job: IndexJob) -> RankerEntry:
    """Write the table and P(q|C) of a collection, and copy the network's variants."""
    job.copy(leave_out=model1.INDEXED)
    return model1.index(job)


INDEXER = Indexer(index, model1.known_words, model1.INDEXED, model1.learned)
