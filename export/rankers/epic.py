"""Export EPIC: two encoders, which are proven together because they score together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.calibration import Feeds
from ranklet.export.onnx.graph import TorchSession
from ranklet.export.sparse.exporting import export_sparse, sparse_graph
from ranklet.export.sparse.pruning import encoders_over, scores_of, term_floors, term_priorities
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.call.query import SparseQuery
from ranklet.runtime.rankers.epic import DOCUMENT_ENCODER, QUERY_ENCODER, EPICEncoders, EPICSettings
from ranklet.runtime.rankers.learned_sparse import INPUTS, PRIORITIES

if TYPE_CHECKING:
    from ranklet.training.rankers.epic import network as epic_network


def export(job: ExportJob) -> RankerEntry:
    """Write the variants of both encoders, proven together against PyTorch, and choose r.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from torch import from_numpy

    from ranklet.export.onnx.method import Method
    from ranklet.training.rankers.epic import training as epic
    from ranklet.training.rankers.epic.network import DocumentEncoder

    probes, tokenizer = job.probes(), job.tokenizer()
    settings: EPICSettings = job.settings
    network = epic.load(job.checkpoint, attention="eager")  # the optimiser fuses no other
    of_queries = Method(network, network.query)
    documents = TorchSession(DocumentEncoder(network), in_order=True)
    sessions = TorchSession(of_queries), documents
    encoders = encoders_over(EPICEncoders, settings, tokenizer, {}, sessions)
    vectors = encoders.encode_whole(probes.documents).vectors
    tokens = [feeds["input_ids"][0] for feeds in documents.feeds]
    own = max(1, probes.own[1])  # neutral texts prove a model, but tell nothing of the collection
    floors = term_floors(vectors[:own])
    priorities = term_priorities(tokens[:own], settings.vocabulary)
    queries, _ = encoders.encode_queries(probes.queries)
    encoder = DocumentEncoder(network, from_numpy(floors))
    return export_sparse(
        job, EPICEncoders,
        graphs=[
            sparse_graph(job.checkpoint, of_queries, INPUTS, QUERY_ENCODER, by_token=True),
            sparse_graph(job.checkpoint, encoder, INPUTS, DOCUMENT_ENCODER),
        ],
        per_term={PRIORITIES: priorities},
        queries=queries,
        vectors=np.maximum(vectors - floors, 0),
        exact=_exact_scores(network, floors, queries, documents.feeds),
    )  # fmt: skip


def _exact_scores(
    network: "epic_network.EPIC",
    floors: NDArray[np.float32],
    queries: Sequence[SparseQuery],
    documents: Sequence[Feeds],
) -> NDArray[np.float32]:
    """Return PyTorch's dot products with φ_d − floors, which is not clipped at 0.

    `documents` are the inputs of the document encoder, one per document.

    Returns:
        (queries, documents) float32.
    """
    import torch

    terms = np.unique(np.concatenate([query.terms for query in queries]))
    columns = torch.from_numpy(terms.astype(np.int64))
    values = []
    with torch.inference_mode():
        for feeds in documents:
            ids, mask, segments = (torch.from_numpy(feeds[name]) for name in INPUTS)
            values.append(network.document(ids, mask, segments, columns))
    return scores_of(queries, terms, torch.cat(values).numpy() - floors[terms])


EXPORTER = Exporter(export, settings=("impacts",), prunes=True)
