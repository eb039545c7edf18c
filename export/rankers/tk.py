"""Export TK as a proven network."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.export.exporter import Exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.rankers.conformer_kernel.network import analyse_probes, export_term_network
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.call.candidates import TextCandidates
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.onnx.session import Runs
from ranklet.runtime.rankers.tk import TK, TKSettings

PROBES = 60, 60  # queries, documents: few, because every pair is a run of its own


def export(job: ExportJob) -> RankerEntry:
    """Write the network's variants, each proven against PyTorch.

    Raises:
        ExportError: there are no probes, or no variant is within its tolerance.
    """
    from ranklet.training.rankers.tk import training as tk

    settings: TKSettings = job.settings
    probes = job.probes().nearest(*PROBES)
    words, rows = analyse_probes(probes, job.checkpoint)

    def score(sessions: Sequence[Runs], texts: Probes) -> NDArray[np.float32]:
        analysis = words.analyzer.begin()
        ranker = TK(settings, rows, lambda: sessions[0])
        candidates = TextCandidates(texts.documents, analysis)
        queries = (QueryContext(text, analysis) for text in texts.queries)
        scores = [ranker.score(query, candidates).values for query in queries]
        return np.array(scores, np.float32)

    network = tk.load(job.checkpoint).latent
    export_term_network(job, network, score, probes, pairwise=True)
    return job.entry()


EXPORTER = Exporter(export)
