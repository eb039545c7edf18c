"""TK: a transformer over query and document, kernels between them, one score per pair.

Source: Hofstätter et al. 2020. The query's terms are read together, so a TK has no impacts: it only
rescores. It reads the word forms that a Conformer-Kernel reads.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklet.runtime.explanation import Explanation
from ranklet.runtime.onnx.encoder import open_session
from ranklet.runtime.pipeline.candidates import Candidates
from ranklet.runtime.pipeline.query import QueryContext
from ranklet.runtime.rankers.conformer_kernel.network import ROWS, TermNetwork
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings
from ranklet.runtime.rankers.protocol import Ranker, Scores

if TYPE_CHECKING:
    from ranklet.runtime.storage.bundle_files import BundleFiles


@dataclass(frozen=True)
class TKSettings(TermSettings):
    """What a TK ranker reads."""

    @property
    def per_pair(self) -> bool:
        """True: the network reads query and document together."""
        return True


class TK(Ranker):
    """Scores each pair by one run of the network.

    Args:
        network: the model, with its settings.
    """

    def __init__(self, network: TermNetwork) -> None:
        self.network = network

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "TK":
        """Open the ranker `name` of a bundle; no network is opened yet."""
        bundle.need_collection()
        settings = TKSettings.from_json(bundle.manifest.rankers[name].settings, f"rankers.{name}")
        folder, terms = f"rankers/{name}/", bundle.analyzer.size(settings.field)
        rows = bundle.array(folder + ROWS, np.int32, (terms,))
        return cls(TermNetwork(settings, rows, lambda: open_session(bundle, folder, many=True)))

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on; numpy where none has run."""
        return self.network.provider

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate."""
        values = self.network.run(self.network.query_tokens(query), candidates)[0]
        return self.network.result(values, query, candidates)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / the number of query terms."""
        return 1 / max(1, len(self.network.query_tokens(query)))

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score as a whole: no part of it belongs to one term."""
        label = f"tk over {self.network.settings.field}"
        return Explanation(label, float(self.score(query, candidate).values[0]))

    def verify(self) -> None:
        """Check every row, and run the network once; BundleError names the first fault."""
        self.network.verify(f"tk over {self.network.settings.field}")


RANKER = TK
SETTINGS = TKSettings
