"""Index a collection as impacts that a Conformer-Kernel computes.

Source: Mitra et al. 2020, §3.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.building.indexer import Indexer, IndexJob
from ranklet.corpus.building.resumable import BlockCache
from ranklet.corpus.building.writer import INDEX_FILES
from ranklet.corpus.errors import BuildError
from ranklet.corpus.evaluation.proof_report import REPORT, Report, describe_content, make_reports
from ranklet.corpus.indexing.analysed import AnalysedCollection
from ranklet.corpus.rankers.conformer_kernel.floors import latent_floors
from ranklet.corpus.rankers.conformer_kernel.impacts import document_impacts, impact_reports
from ranklet.corpus.rankers.conformer_kernel.term_prediction import likely_terms
from ranklet.corpus.rankers.conformer_kernel.terms import count_truncated, term_rows
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.onnx.encoder import VARIANTS
from ranklet.runtime.onnx.session import Runs, Session
from ranklet.runtime.rankers.conformer_kernel.network import ROWS, spellings
from ranklet.runtime.rankers.conformer_kernel.ranker import FLOORS, IDF, TermMatching
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings, rarity

_log = logging.getLogger(__name__)

INDEXED = (ROWS, IDF, FLOORS, REPORT, *INDEX_FILES)  # what `index` writes
_INDEPENDENT = ("scorer", "max_query_terms", "impacts")  # not the impacts


def known_words(source: BundleFiles, name: str) -> tuple[str, ...]:
    """Return the words that the vocabulary must have, which are those the network knows."""
    return tuple(spellings(source, name)) if source.settings(name).latent else ()


def index(job: IndexJob) -> RankerEntry:
    """Write the impacts of every document, measure what they lose, and copy the network."""
    source, folder, analysed, writer = job.source, job.folder, job.analysed, job.writer
    settings: ConformerKernelSettings = job.settings
    job.copy(leave_out=INDEXED)
    rows = term_rows(known_words(source, job.name), analysed.analyzer.vocabulary, settings.field)
    bare = term_matching(settings, analysed, rows, lambda: _session(source, folder))
    cache = _cache(source, folder, bare, writer.resume(job.name))
    floors = latent_floors(bare, analysed, cache)
    matching = term_matching(settings, analysed, rows, lambda: bare.session, floors)
    likely = likely_terms(matching, analysed, cache)
    impacts = document_impacts(matching, likely, analysed, cache)
    stored = impacts.indexed(len(rows), settings.impacts)
    writer.index(folder, stored)
    losses = impact_reports(matching, impacts, stored, analysed)
    measured: dict[str, float] = {"truncated": count_truncated(job)}
    if losses:
        measured["overlap"] = losses[-1].overlap
        overlap = f"{losses[-1].overlap:.1%}"
        _log.info("%s: the impacts find %s of the model's 10 best documents", job.name, overlap)
    writer.array(folder + ROWS, rows)
    writer.array(folder + IDF, matching.idf_of)
    writer.array(folder + FLOORS, floors)
    if reports := [*_proofs(source, job.name), *losses]:
        writer.data(folder + REPORT, describe_content(reports))
    return replace(job.entry, measured=measured)


def term_matching(
    settings: ConformerKernelSettings,
    analysed: AnalysedCollection,
    rows: NDArray[np.int32],
    open_network: Callable[[], Runs],
    floors: NDArray[np.float32] | None = None,
) -> TermMatching:
    """Return the model with the statistics of a collection; without floors they are 0."""
    df = np.diff(analysed.postings(settings.field).offsets)
    count = len(analysed.documents)
    if floors is None:
        floors = np.zeros(len(rows), np.float32)
    return TermMatching(settings, rows, rarity(df, count), floors, open_network, count)


def _session(source: BundleFiles, folder: str) -> Session:
    """Open the most exact variant, because impacts are computed once for all machines."""
    path = _network(source, folder)
    device, strict = source.device, source.strict
    return Session(source.file(path), path, device=device, strict=strict, many=True)


def _network(source: BundleFiles, folder: str) -> str:
    for variant in ("fp32", "fp16", "int8"):
        if source.has(folder + VARIANTS[variant]):
            return folder + VARIANTS[variant]
    raise BuildError(f"the bundle has no network in {folder}; export it again")


def _cache(
    source: BundleFiles, folder: str, matching: TermMatching, path: Path | None
) -> BlockCache:
    """Return the cache of finished blocks, which depend on the network and the vocabulary."""
    settings = matching.settings
    digest = source.manifest.files[_network(source, folder)].sha256 if settings.latent else ""
    chosen = {key: value for key, value in asdict(settings).items() if key not in _INDEPENDENT}
    return BlockCache(
        path, digest, json.dumps(chosen, sort_keys=True), matching.rows, matching.idf_of
    )


def _proofs(source: BundleFiles, name: str) -> list[Report]:
    """Return the proofs of the network's variants, without the losses of an earlier index."""
    return [each for each in make_reports(source, name) or () if each.variant in VARIANTS]


INDEXER = Indexer(index, known_words, INDEXED)
