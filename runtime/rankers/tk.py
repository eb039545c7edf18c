"""TK runs a transformer over query and document, and kernels between them, for one score per pair.

Source: Hofstätter et al. 2020. A TK reads the query's terms together, so it has no impacts and only
rescores. It reads the same word forms as a Conformer-Kernel.
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
    """The settings of a TK ranker."""

    @property
    def per_pair(self) -> bool:
        """True, because the network reads query and document together."""
        return True


class TK(Ranker):
    """Scores each pair by one run of the network."""

    def __init__(self, network: TermNetwork) -> None:
        self.network = network

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "TK":
        """Open the ranker `name` of a bundle; no network is opened yet."""
        bundle.need_collection()
        settings: TKSettings = bundle.settings(name)
        folder, terms = f"rankers/{name}/", bundle.analyzer.size(settings.field)
        rows = bundle.array(folder + ROWS, np.int32, (terms,))
        return cls(TermNetwork(settings, rows, lambda: open_session(bundle, folder, many=True)))

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on, or numpy if it has not run."""
        return self.network.provider

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate."""
        values = self.network.run(self.network.query_tokens(query), candidates)[0]
        return self.network.result(values, query, candidates)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / number of query terms."""
        return 1 / max(1, len(self.network.query_tokens(query)))

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score as a whole, because no part of it belongs to one term."""
        label = f"tk over {self.network.settings.field}"
        return Explanation(label, float(self.score(query, candidate).values[0]))

    def verify(self) -> None:
        """Check every row and run the network once; raise BundleError at the first fault."""
        self.network.verify(f"tk over {self.network.settings.field}")


RANKER = TK
SETTINGS = TKSettings
