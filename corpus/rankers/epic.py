"""Index a collection by EPIC's sparse vectors."""

from ranklet.corpus.building.indexer import Indexer
from ranklet.corpus.rankers.learned_sparse import INDEXED, index

INDEXER = Indexer(index, indexed=INDEXED, parts={})
