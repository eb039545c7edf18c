"""Exporting a Conformer-Kernel: its proven network; indexing it: impacts, computed by the network.

Source: Mitra et al. 2020 (paper 002), §3.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.export.errors import ExportError
from ranklet.export.impacts import FILES, write_index
from ranklet.export.options import ExportOptions
from ranklet.export.proof.report import REPORT, Report, reports_of
from ranklet.export.proof.variants import write_reports
from ranklet.export.rankers.conformer_kernel.floors import latent_floors
from ranklet.export.rankers.conformer_kernel.impacts import document_impacts, impact_reports
from ranklet.export.rankers.conformer_kernel.network import count_truncated, export_network
from ranklet.export.rankers.conformer_kernel.term_prediction import likely_terms
from ranklet.export.resumable import KeptBlocks
from ranklet.export.writer import BundleWriter
from ranklet.runtime.lexical.bm25 import idf
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import Session
from ranklet.runtime.pipeline.candidates import TextCandidates
from ranklet.runtime.rankers.conformer_kernel.matching import TermMatching
from ranklet.runtime.rankers.conformer_kernel.network import ROWS, spellings
from ranklet.runtime.rankers.conformer_kernel.ranker import FLOORS, IDF
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings
from ranklet.runtime.rankers.protocol import QueryContext
from ranklet.runtime.storage.bundle_files import BundleFiles
from ranklet.runtime.storage.manifest import RankerEntry
from ranklet.training.checkpoint import Checkpoint, check_finite
from ranklet.training.data.probes import Probes
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.rankers.conformer_kernel.vocabulary import term_rows

if TYPE_CHECKING:
    from ranklet.runtime.onnx.session import Runs

_log = logging.getLogger(__name__)

# Queries and documents of a proof: a document runs once for the terms of all queries.
PROBES = (200, 300)
# Settings that impacts do not depend on.
_BESIDE = ("scorer", "max_query_terms", "impacts", "overlap", "truncated")


def export(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write the network's variants, each proven against PyTorch; NDRM2 is its settings.

    Raises:
        ExportError: no probes, weights that are not finite, or no variant within its tolerance.
    """
    from ranklet.training.rankers.conformer_kernel import training as conformer_kernel

    check_finite(checkpoint.weights, f"the checkpoint of {name!r}")
    settings: ConformerKernelSettings = checkpoint.settings
    module = conformer_kernel.load(checkpoint).latent

    def score(
        words: AnalysedCollection, rows: NDArray[np.int32], session: "Runs", texts: Probes
    ) -> NDArray[np.float32]:
        analysis = words.analyzer.begin()
        queries = [QueryContext(text, analysis) for text in texts.queries]
        matching = _matching(settings, words, rows, lambda: session)
        return matching.scores(queries, TextCandidates(texts.documents, analysis))

    if module is not None:
        export_network(
            module, checkpoint, name, writer, options, score, probes=PROBES, pairwise=False
        )
    return RankerEntry(checkpoint.kind, asdict(settings))


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:
    """Return words that the vocabulary must have: those of the network, in documents or not."""
    return tuple(spellings(source, name)) if _settings(source, name).latent else ()


def index(
    source: BundleFiles, name: str, analysed: AnalysedCollection, writer: BundleWriter
) -> RankerEntry:
    """Write the impacts of every document, and what they lose, and take over the network."""
    entry, settings = source.manifest.rankers[name], _settings(source, name)
    folder = f"rankers/{name}/"
    written = (ROWS, IDF, FLOORS, REPORT, *FILES)
    writer.copy(source, folder, leave_out=written)
    rows = term_rows(known_words(source, name), analysed.analyzer.vocabulary)
    matching = _matching(settings, analysed, rows, lambda: _session(source, folder))
    reports = _proofs(source, name)
    settings = replace(settings, truncated=count_truncated(settings, analysed, name))
    kept = _kept(source, folder, matching, writer.resume_folder / name)
    matching.floors = latent_floors(matching, analysed, kept)
    likely = likely_terms(matching, analysed, kept)
    impacts = document_impacts(matching, likely, analysed, kept)
    stored = impacts.indexed(len(rows), settings.impacts)
    write_index(stored, folder, writer)
    found = impact_reports(matching, impacts, stored, analysed)
    reports += found
    for each in found[1:]:
        settings = replace(settings, overlap=each.overlap)
        _log.info("%s: impacts find %s of the model's 10 best", name, f"{each.overlap:.1%}")
    writer.array(folder + ROWS, rows)
    writer.array(folder + IDF, matching.idf_of)
    writer.array(folder + FLOORS, matching.floors)
    if reports:
        write_reports(reports, folder, writer)
    return RankerEntry(entry.kind, asdict(settings))


def _settings(source: BundleFiles, name: str) -> ConformerKernelSettings:
    return ConformerKernelSettings.from_json(
        source.manifest.rankers[name].settings, f"rankers.{name}"
    )


def _matching(
    settings: ConformerKernelSettings,
    analysed: AnalysedCollection,
    rows: NDArray[np.int32],
    open_network: "Callable[[], Runs]",
) -> TermMatching:
    """Return the model beside the statistics of a collection, without floors."""
    df = np.diff(analysed.postings(settings.field).offsets)
    count = len(analysed.documents)
    floors = np.zeros(len(rows), np.float32)
    return TermMatching(settings, rows, idf(df, count), floors, open_network, count)


def _session(source: BundleFiles, folder: str) -> Session:
    """Open the most exact variant: impacts are computed once, and for all machines."""
    path = _network(source, folder)
    device, strict = source.device, source.strict
    return Session(source.file(path), path, device=device, strict=strict, many=True)


def _network(source: BundleFiles, folder: str) -> str:
    for variant in ("fp32", "fp16", "int8"):
        if source.has(folder + VARIANTS[variant]):
            return folder + VARIANTS[variant]
    raise ExportError(f"the bundle has no network in {folder}; export it again")


def _kept(source: BundleFiles, folder: str, matching: TermMatching, kept: Path) -> KeptBlocks:
    """Return where an interrupted indexing finds its blocks: for this network and vocabulary."""
    settings = matching.settings
    digest = source.manifest.files[_network(source, folder)].sha256 if settings.latent else ""
    told = {name: value for name, value in asdict(settings).items() if name not in _BESIDE}
    return KeptBlocks(
        kept, digest, json.dumps(told, sort_keys=True), matching.rows, matching.idf_of
    )


def _proofs(source: BundleFiles, name: str) -> list[Report]:
    """Return the proofs of the network's variants, without those of an earlier index."""
    return [each for each in reports_of(source, name) or () if each.variant in VARIANTS]
