"""Export a light ranker: its static part, and the graph of what needs a network, each proven.

The static part is the table in 8 bits, and small matrices in 32. A collection is indexed as vectors
or codes, with how rare each token is.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
    token_groups,
)
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.dense.maxsim import quantise_query
from ranklet.runtime.onnx.encoder import Encoder
from ranklet.runtime.rankers.colbert.encoder import ColBERTEncoder
from ranklet.runtime.rankers.colbert.settings import OUTPUT
from ranklet.runtime.rankers.srm.codes import ELEMENT, SubEmbeddings
from ranklet.runtime.rankers.srm.encoder import LightEncoder, StaticVectors
from ranklet.runtime.rankers.srm.modules import matrix_shapes
from ranklet.runtime.rankers.srm.settings import (
    CODES,
    MODULES,
    TABLE,
    TABLE_SCALES,
    WEIGHTS_OUTPUT,
    SRMSettings,
)
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

    from ranklet.training.rankers.srm.network import LightNetwork

STATIC = "static int8"  # the variant of a static part

LIGHT = "light."  # the prefix of the modules' weights in a checkpoint

WEIGHTS = f"{LIGHT}table.weight"  # of the table


class _Export:
    """What the steps of an export share."""

    def __init__(self, job: ExportJob) -> None:
        from ranklet.training.rankers.srm.network import load

        self.job = job
        self.settings: SRMSettings = job.settings
        self.probes, self.tokenizer = job.probes(), _tokenizer(job)
        self.network: LightNetwork = load(job.checkpoint, attention="eager")
        self.static: StaticVectors = static_part(job.checkpoint, self.tokenizer)
        self.queries: Vectors = (
            self.by_pytorch(self.network).encode(self.probes.queries, "query").vectors
        )
        self.documents: Vectors = (
            self.by_pytorch(self.of_documents).encode(self.probes.documents, "document").vectors
        )

    @property
    def of_documents(self) -> "torch.nn.Module":
        """The network whose vectors documents have."""
        if self.settings.documents == "light" or self.network.oracle is None:
            return self.network
        return self.network.oracle

    def by_pytorch(self, module: "torch.nn.Module") -> ColBERTEncoder:
        """Return an encoder whose network is a module."""
        size = self.settings.dimension
        whole = Encoder(TorchSession(module), OUTPUT, self.tokenizer, size)
        return ColBERTEncoder(self.settings, whole)

    def prove_static(self) -> Report:
        """Compare the static part, which takes the place of a network, with PyTorch.

        Raises:
            ExportError: it is out of tolerance.
        """
        encoder = LightEncoder(self.settings, self.tokenizer, self.static)
        begin, documents, texts = perf_counter(), self.documents, len(self.probes.queries)
        queries = encoder.encode(self.probes.queries, "query").vectors
        if self.settings.static_documents:
            documents = encoder.encode(self.probes.documents, "document").vectors
            texts += len(documents)
        seconds = perf_counter() - begin
        report = compare_scores(
            STATIC,
            static_bytes(self.static),
            float_scores(self.queries, self.documents),
            float_scores(queries, documents),
            self.probes.relevant,
        )
        report = replace(report, ms=seconds * 1e3 / texts)
        if reason := why_refused(report, self.job.options):
            raise ExportError(
                f"the static part of {self.job.name!r} is out of tolerance, so nothing is written "
                f"({reason})"
            )
        return report

    def prove_network(self) -> list[Report]:
        """Write the variants of the network that are within their tolerance.

        If only documents need it, it is the oracle, and queries are static.
        """
        from ranklet.export.onnx.method import Method

        settings, network, outputs = self.settings, self.network, {OUTPUT: True}
        module, queries = self.of_documents, None
        if settings.static_queries:
            static = LightEncoder(settings, self.tokenizer, self.static)

            def queries(texts: Sequence[str]) -> Vectors:
                return static.encode(texts, "query").vectors
        else:
            module = Method(network, lambda *inputs: network(*inputs)[0])
            if settings.stored == CODES:
                module, outputs[WEIGHTS_OUTPUT] = Method(network, network.__call__), True
        graph = encoder_graph(self.job.checkpoint, module, network.inputs, outputs)
        score = MaxSimScores(settings, self.tokenizer, queries)
        return export_proven(self.job, [graph], score, self.probes).reports

    def forms(self) -> list[Report]:
        """Return how each stored form ranks the probes, next to vectors in 32 bits."""
        groups = token_groups(self.settings, self.tokenizer, self.probes, self.documents)
        reports = form_reports(self.queries, self.documents, groups, self.probes.relevant)
        if self.settings.window or self.settings.documents != "light":
            return reports
        return [*reports, self._codes()]

    def _codes(self) -> Report:
        from ranklet.export.onnx.method import Method

        settings, network = replace(self.settings, stored=CODES), self.network
        weights = Method(network, lambda *inputs: network(*inputs)[1])
        encoder = LightEncoder(
            settings, self.tokenizer, self.static, lambda: self.by_pytorch(weights)
        )
        store = encoder.encode_documents(self.probes.documents).store
        everything = np.arange(len(store))
        scores: NDArray[np.float32] = np.stack(
            [store.scores(quantise_query(query, ELEMENT), everything) for query in self.queries]
        )
        offsets, codes, _ = encoder.codes(self.probes.documents)
        size = sum(each.nbytes for each in (offsets, *codes)) / max(1, len(store))
        reference = float_scores(self.queries, self.documents)
        return compare_scores(
            f"stored {CODES}", round(size), reference, scores, self.probes.relevant
        )


def export(job: ExportJob) -> RankerEntry:
    """Write the static part, the variants of the network and the tokenizer.

    A part that a ranker's settings do not need is not written. Each part is proven against PyTorch.
    The report also has a row per stored form.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    made = _Export(job)
    settings, reports = made.settings, []
    if settings.static_queries:
        reports.append(made.prove_static())
    if not settings.static_documents:
        reports += made.prove_network()
    write_reports(job, [*reports, *made.forms()], made.probes)
    if settings.has_table:
        write_static(made.static, job)
    job.write_tokenizer()
    return job.entry()


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


def static_part(checkpoint: Checkpoint, tokenizer: "Tokenizer") -> StaticVectors:
    """Return a checkpoint's static part as it is served; each sub-embedding has one factor."""
    settings: SRMSettings = checkpoint.settings
    whole = checkpoint.weights[WEIGHTS]
    values, scales = quantise_rows(whole.reshape(-1, settings.dimension))
    shape = len(whole), settings.sub_embeddings
    table = SubEmbeddings(values.reshape(*shape, settings.dimension), scales.reshape(shape))
    names = matrix_shapes(settings) if settings.static_queries else {}
    matrices = {name: checkpoint.weights[LIGHT + name] for name in names}
    return StaticVectors(settings, tokenizer, table, matrices)


def static_bytes(static: StaticVectors) -> int:
    """Return how many bytes the files of a static part take."""
    table = static.table
    matrices = sum(each.nbytes for each in static.matrices.values())
    return int(table.values.nbytes + table.scales.nbytes + matrices)


def write_static(static: StaticVectors, job: ExportJob) -> None:
    """Write the table and the matrices into a ranker's folder."""
    folder, writer = job.folder, job.writer
    writer.array(folder + TABLE, static.table.values)
    writer.array(folder + TABLE_SCALES, static.table.scales)
    for name, matrix in static.matrices.items():
        writer.array(f"{folder}{MODULES}{name}.npy", matrix)


EXPORTER = Exporter(export, settings=("stored", "idf"))
