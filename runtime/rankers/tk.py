"""TK and TKL run a transformer over query and document, and kernels between them.

Sources: Hofstätter, Zlabinger & Hanbury, ECAI 2020 (TK); Hofstätter et al., SIGIR 2020 (TKL). The
network reads the query's terms together, so there are no impacts, and a TK only rescores. Its score
is a sum over query terms. It reads the same word forms as a Conformer-Kernel.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.answers.explanation import Explanation, ReadSpans
from ranklet.runtime.call.candidates import Candidates
from ranklet.runtime.call.protocol import Ranker, Scores
from ranklet.runtime.call.query import QueryContext
from ranklet.runtime.ground.options import one_of
from ranklet.runtime.onnx.encoder import open_session
from ranklet.runtime.rankers.conformer_kernel.network import ROWS, TermNetwork
from ranklet.runtime.rankers.conformer_kernel.settings import TermSettings

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.onnx.session import Runs

ARCHITECTURES = ("tk", "tkl")


@dataclass(frozen=True)
class TKSettings(TermSettings):
    """The settings of a TK or TKL ranker."""

    architecture: str = one_of(
        "tk", ARCHITECTURES, "tk kernels over a whole document, tkl over its best regions"
    )

    @property
    def per_pair(self) -> bool:
        """True, because the network reads query and document together."""
        return True


class TK(Ranker):
    """Scores each pair by one run of the network.

    Args:
        settings: the model's settings.
        rows: the network's row of each word form, (terms,) int32.
        open_network: opens the network's session on first use.
    """

    def __init__(
        self, settings: TKSettings, rows: NDArray[np.int32], open_network: "Callable[[], Runs]"
    ) -> None:
        self.network = TermNetwork(settings, rows, open_network)
        self.label = f"{settings.architecture} over {settings.field}"

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> "TK":
        """Open the ranker `name` of a bundle; no network is opened yet."""
        bundle.need_collection()
        settings: TKSettings = bundle.settings(name)
        folder, terms = f"rankers/{name}/", bundle.analyzer.size(settings.field)
        rows = bundle.array(folder + ROWS, np.int32, (terms,))
        return cls(settings, rows, lambda: open_session(bundle, folder, many=True))

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on, or numpy if it has not run."""
        return self.network.provider

    def score(self, query: QueryContext, candidates: Candidates) -> Scores:
        """Return the score of each candidate, the sum of its query terms' shares."""
        shares = self.network.run(self.network.query_tokens(query), candidates)
        values = shares.sum(0, dtype=np.float64).astype(np.float32)
        return self.network.result(values, query, candidates)

    def scale(self, query: QueryContext) -> float:
        """Return 1 / number of query terms."""
        return 1 / max(1, len(self.network.query_tokens(query)))

    def explain(self, query: QueryContext, candidate: Candidates) -> Explanation:
        """Explain a score by query terms."""
        settings, tokens = self.network.settings, self.network.query_tokens(query)
        shares = self.network.run(tokens, candidate)[: len(tokens), 0].astype(np.float64)
        read = ReadSpans(settings.field, ((0, settings.max_document_terms),))
        terms, place = np.unique(tokens, return_inverse=True)  # a repeated term has one part
        names = [query.analysis.name(term, settings.field) for term in terms.tolist()]
        parts = [
            Explanation(name, float(value), query_token=(settings.field, name))
            for name, value in zip(names, np.bincount(place, shares), strict=True)
            if value
        ]
        return replace(Explanation.total(self.label, parts), read=read)

    def verify(self) -> None:
        """Check every row and run the network once; raise BundleError at the first fault."""
        self.network.verify(self.label)


RANKER = TK
SETTINGS = TKSettings
