"""Index a collection for a Conformer-Kernel."""

from ranklet.corpus.rankers.conformer_kernel.indexing import INDEXER as INDEXER
