"""Exporting a TK: its proven network; indexing it: which row of the network a word form has."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.options import ExportOptions
from ranklet.export.rankers.conformer_kernel.network import count_truncated, export_network
from ranklet.export.writer import BundleWriter
from ranklet.runtime.pipeline.candidates import TextCandidates
from ranklet.runtime.rankers.conformer_kernel.network import ROWS, TermNetwork, spellings
from ranklet.runtime.rankers.protocol import QueryContext
from ranklet.runtime.rankers.tk import TK, TKSettings
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.checkpoint import Checkpoint, check_finite
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.conformer_kernel.vocabulary import term_rows

if TYPE_CHECKING:
    from ranklet.runtime.onnx.session import Runs

PROBES = (60, 60)  # queries and documents of a proof: each pair is a run of its own


def export(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write the network's variants, each proven against PyTorch.

    Raises:
        ExportError: no probes, weights that are not finite, or no variant within its tolerance.
    """
    from ranklet.training.rankers.tk import training as tk

    check_finite(checkpoint.weights, f"the checkpoint of {name!r}")
    settings: TKSettings = checkpoint.settings

    def score(
        words: AnalysedCollection, rows: NDArray[np.int32], session: "Runs", texts: Probes
    ) -> NDArray[np.float32]:
        analysis = words.analyzer.begin()
        ranker = TK(TermNetwork(settings, rows, lambda: session))
        candidates = TextCandidates(texts.documents, analysis)
        queries = (QueryContext(text, analysis) for text in texts.queries)
        return np.array([ranker.score(query, candidates) for query in queries], np.float32)

    export_network(
        tk.load(checkpoint).latent, checkpoint, name, writer, options, score,
        probes=PROBES, pairwise=True,
    )  # fmt: skip
    return RankerEntry(checkpoint.kind, asdict(settings))


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:
    """Return words that the vocabulary must have: those of the network, in documents or not."""
    return tuple(spellings(source, name))


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Write the row of each word form, and take over the network."""
    entry, folder = source.manifest.rankers[name], f"rankers/{name}/"
    settings = TKSettings.from_json(entry.settings, f"rankers.{name}")
    writer.copy(source, folder, leave_out=(ROWS,))
    writer.array(folder + ROWS, term_rows(known_words(source, name), analysed.analyzer.vocabulary))
    settings = replace(settings, truncated=count_truncated(settings, analysed, name))
    return RankerEntry(entry.kind, asdict(settings))
