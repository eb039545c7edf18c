"""Open a BM25 ranker over postings in memory, which retrieves negatives and candidates."""

from ranklet.runtime.rankers.bm25 import BM25, BM25Settings
from ranklet.training.indexing.analysed import Postings


def open_bm25(settings: BM25Settings, postings: Postings) -> BM25:
    """Return a BM25 ranker over postings in memory."""
    index = postings.bm25(settings.k1, settings.b)
    return BM25(settings, index, postings.average_length)
