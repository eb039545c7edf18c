"""Export a Conformer-Kernel as a proven network.

Source: Mitra et al. 2020, §3.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.corpus.rankers.conformer_kernel.indexing import term_matching
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.rankers.conformer_kernel.network import analyse_probes, export_term_network
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.conformer_kernel.settings import ConformerKernelSettings

PROBES = 200, 300  # queries, documents: a document runs once for the terms of all queries


def export(job: ExportJob) -> RankerEntry:
    """Write the network's variants, each proven against PyTorch; NDRM2 has no network.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from ranklet.training.rankers.conformer_kernel import training as conformer_kernel

    settings: ConformerKernelSettings = job.settings
    network = conformer_kernel.load(job.checkpoint).latent
    if network is None:
        return job.entry()
    probes = job.probes().nearest(*PROBES)
    words, rows = analyse_probes(probes, job.checkpoint)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        analysis = words.analyzer.begin()
        queries = [QueryContext(text, analysis) for text in texts.queries]
        matching = term_matching(settings, words, rows, lambda: sessions[0])
        return matching.scores(queries, TextCandidates(texts.documents, analysis))

    export_term_network(job, network, score, probes, pairwise=False)
    return job.entry()


SETTINGS = ("scorer", "impacts", "terms", "candidates", "floor")

EXPORTER = Exporter(export, settings=SETTINGS)
