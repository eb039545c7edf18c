"""Export a light ranker: the table of static vectors, and the graph that reads its rows, proven.

The table has 8 bits. It is a file of its own and no part of the graph, because codes are decoded by
it, too, and because a query then reads the rows of its own tokens alone.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.evaluation.proof_report import Report, compare_scores
from ranklet.export.errors import ExportError
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.onnx.graph import TorchSession
from ranklet.export.onnx.int8_embeddings import quantise_rows
from ranklet.export.proof.variants import encoder_graph, export_proven, why_refused, write_reports
from ranklet.export.rankers.colbert.exporting import (
    MaxSimScores,
    Vectors,
    float_scores,
    form_reports,
)
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.dense.maxsim import quantise_query
from ranklet.runtime.onnx.encoder import VARIANTS, Encoder
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.colbert.settings import OUTPUT
from ranklet.runtime.rankers.srm.codes import ELEMENT, SubEmbeddings
from ranklet.runtime.rankers.srm.encoder import LightEncoder
from ranklet.runtime.rankers.srm.settings import (
    CODES,
    STATIC,
    TABLE,
    TABLE_SCALES,
    WEIGHTS_OUTPUT,
    SRMSettings,
)
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.export.proof.variants import Graph
    from ranklet.training.rankers.srm.network import LightNetwork

TABLE_VARIANT = "table int8"  # what the report calls the table in 8 bits
WEIGHTS = "light.table.weight"  # of the table in a checkpoint
# Without an oracle the graph has a few matrices, which 16 or 8 bits would not make faster.
SMALL = ("fp32",)


class _Scores(MaxSimScores):
    """Scores texts by vectors in 32 bits that are made of the table's rows."""

    def __init__(self, settings: SRMSettings, tokenizer: "Tokenizer", table: SubEmbeddings) -> None:
        super().__init__(settings, tokenizer)
        self._light, self._table = settings, table

    def encoder(self, session: Runs) -> LightEncoder:
        """Return an encoder without a bundle."""
        whole = Encoder(session, OUTPUT, self._tokenizer, self._light.dimension)
        return LightEncoder(self._light, whole, self._table)


def export(job: ExportJob) -> RankerEntry:
    """Write the table, the variants of the graph and the tokenizer.

    The variants are proven against PyTorch on the same rows, and the table in 8 bits against that
    in 32. Without an oracle the graph has one variant, fp32, whatever the options ask for. The
    report also has a row per stored form.

    Raises:
        ExportError: there are no probes, no variant is within its tolerance, or the table is not.
    """
    from ranklet.training.rankers.srm.network import load

    settings: SRMSettings = job.settings
    probes, tokenizer = job.probes(), _tokenizer(job)
    network = load(job.checkpoint, attention="eager")
    table = make_table(job.checkpoint)
    score = _Scores(settings, tokenizer, table)
    asked, variants = job, tuple(VARIANTS)
    if settings.static:
        asked, variants = replace(job, options=replace(job.options, variants=SMALL)), SMALL
    reports = export_proven(asked, [_graph(job, network)], score, probes, variants=variants).reports
    whole = _Scores(settings, tokenizer, _whole_table(job.checkpoint))
    reference = whole([TorchSession(network)], probes)
    if score.first is None or whole.first is None:  # for mypy
        raise ExportError(f"{job.name!r} was not scored")
    found = float_scores(*score.first)
    size = int(table.values.nbytes + table.scales.nbytes)
    own = compare_scores(TABLE_VARIANT, size, reference, found, probes.relevant)
    if reason := why_refused(own, job.options):
        raise ExportError(
            f"the table of {job.name!r} in 8 bits is out of tolerance, so nothing is written "
            f"({reason})"
        )
    reports = [*reports, own, *form_reports(*whole.first, probes.relevant)]
    if not settings.window:
        encoder = _by_weights(replace(settings, stored=CODES), tokenizer, network, table)
        reports.append(_codes(encoder, probes, whole.first[0], reference))
    write_reports(job, reports, probes)
    job.writer.array(job.folder + TABLE, table.values)
    job.writer.array(job.folder + TABLE_SCALES, table.scales)
    job.write_tokenizer()
    return job.entry()


def _graph(job: ExportJob, network: "LightNetwork") -> "Graph":
    """Return the graph of the vectors, and of the weights if they depend on the context."""
    import torch

    from ranklet.export.onnx.method import Method

    settings: SRMSettings = job.settings
    outputs = [OUTPUT, WEIGHTS_OUTPUT] if settings.mixes else [OUTPUT]
    module = Method(network, network.served)
    graph = encoder_graph(job.checkpoint, module, network.inputs, dict.fromkeys(outputs, True))
    texts, tokens = graph.inputs["attention_mask"].shape
    shape = texts, tokens, settings.sub_embeddings, settings.dimension
    return replace(graph, inputs={**graph.inputs, STATIC: torch.rand(shape)})


def _by_weights(
    settings: SRMSettings, tokenizer: "Tokenizer", network: "LightNetwork", table: SubEmbeddings
) -> LightEncoder:
    """Return an encoder of codes, whose weights PyTorch computes."""
    from ranklet.export.onnx.method import Method

    def weights(*inputs: Any) -> Any:
        return network(*inputs)[1]

    session = TorchSession(Method(network, weights))
    whole = Encoder(session, WEIGHTS_OUTPUT, tokenizer, settings.dimension)
    return LightEncoder(settings, whole, table)


def _codes(
    encoder: LightEncoder, probes: Probes, queries: Vectors, reference: NDArray[np.float32]
) -> Report:
    """Return how codes rank the probes, next to vectors in 32 bits."""
    store = encoder.encode_documents(probes.documents).store
    everything = np.arange(len(store))
    scores = [store.scores(quantise_query(query, ELEMENT), everything) for query in queries]
    size = sum(each.nbytes for each in (store.offsets, *store.columns)) / max(1, len(store))
    return compare_scores(
        f"stored {CODES}", round(size), reference, np.stack(scores), probes.relevant
    )


def _tokenizer(job: ExportJob) -> "Tokenizer":
    """Return the tokenizer, whose ids all have a row of the table.

    Raises:
        ExportError: there is no tokenizer, or an id has no row.
    """
    tokenizer = job.tokenizer()
    rows, largest = len(job.checkpoint.weights[WEIGHTS]), max(tokenizer.get_vocab().values())
    if largest >= rows:
        raise ExportError(
            f"the tokenizer of {job.name!r} has the id {largest:,}, but the table has {rows:,} rows"
        )
    return tokenizer


def make_table(checkpoint: Checkpoint) -> SubEmbeddings:
    """Return a checkpoint's table in 8 bits; each sub-embedding has one factor."""
    whole = _whole_table(checkpoint).values
    values, scales = quantise_rows(whole.reshape(-1, whole.shape[2]))
    return SubEmbeddings(values.reshape(whole.shape), scales.reshape(whole.shape[:2]))


def _whole_table(checkpoint: Checkpoint) -> SubEmbeddings:
    """Return a checkpoint's table in 32 bits, whose factors are 1."""
    settings: SRMSettings = checkpoint.settings
    weights = checkpoint.weights[WEIGHTS]
    shape = len(weights), settings.sub_embeddings
    values = np.asarray(weights, np.float32).reshape(*shape, settings.dimension)
    return SubEmbeddings(values, np.ones(shape, np.float32))


EXPORTER = Exporter(export, settings=("stored", "idf"))
