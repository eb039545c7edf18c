"""Context-free neural Model 1, which is Model 1 with T(q|d) from a network.

Model 1's own scorer serves the network's sparsified table. With ``scorer="onnx"`` the network
itself serves, which is worthwhile on a GPU. Source: Boytsov & Kolter 2021, §3.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ranklet.runtime.call.deadline import FIRST_SLICE
from ranklet.runtime.ground.options import integer, one_of
from ranklet.runtime.onnx.batches import length_batches
from ranklet.runtime.onnx.encoder import open_session
from ranklet.runtime.rankers import model1
from ranklet.runtime.storage.forward import Gathered

if TYPE_CHECKING:
    from ranklet.runtime.bundles.files import BundleFiles
    from ranklet.runtime.onnx.session import Runs

# Names of the network's inputs, (batch, tokens) int64 padded with [PAD], and of its output,
# Σ_d T(q|d) P(d|D), (batch, query tokens) float32.
INPUTS = ("query_ids", "document_ids")
OUTPUT = "likelihoods"
SCORERS = ("table", "onnx")

PAIR_BUDGET = 1 << 20  # query × document tokens per batch, with 270 MB of hidden values


@dataclass(frozen=True)
class NeuralModel1Settings(model1.Model1Settings):
    """The settings of a neural Model 1; the network's T(q|d) are multiplied by 1 − p_self."""

    field: str = one_of("wordpieces", ("wordpieces",), "tokens of a text")
    scorer: str = one_of("table", SCORERS, "what gives T(q|d), the table or the network")
    padding: int = integer(0, "the id of [PAD], 0 in BERT's vocabularies", 0, flag=None)


class NeuralModel1(model1.Model1):
    """Σ over query word pieces of log P(q|D) − log λP(q|C), with T(q|d) from a network."""

    settings: NeuralModel1Settings
    session: "Runs | None" = None

    @classmethod
    def open(cls, bundle: "BundleFiles", name: str) -> Self:
        """Open the ranker `name` of a bundle."""
        ranker, settings = super().open(bundle, name), bundle.settings(name)
        if settings.scorer == "onnx":
            ranker.session = open_session(bundle, f"rankers/{name}/")
            ranker.slice_size = FIRST_SLICE
        return ranker

    @property
    def provider(self) -> str:
        """The onnxruntime provider that the network runs on, or numpy if the table serves."""
        return self.session.provider if self.session else "numpy"

    def likelihoods(self, tokens: NDArray[np.int32], documents: Gathered) -> NDArray[np.float32]:
        """Return Σ_d T(q|d) P(d|D), (query tokens, documents) float32."""
        if self.session is None:
            return super().likelihoods(tokens, documents)
        return network_likelihoods(self.session, tokens, documents, self.settings.padding)


def network_likelihoods(
    session: "Runs", tokens: NDArray[np.int32], documents: Gathered, padding: int
) -> NDArray[np.float32]:
    """Run the network on one query and some documents, in batches within `PAIR_BUDGET`.

    Returns:
        (query tokens, documents) float32, zero for a document without tokens.
    """
    scores = np.zeros((len(tokens), len(documents.lengths)), np.float32)
    if not len(tokens):
        return scores
    ends = np.cumsum(documents.lengths)
    filled = np.flatnonzero(documents.lengths)
    lengths = documents.lengths[filled].tolist()
    for batch in length_batches(lengths, lambda length: PAIR_BUDGET // (length * len(tokens))):
        rows = np.full((len(batch), lengths[batch[0]]), padding, np.int64)
        for row, index in zip(rows, batch, strict=True):
            end = ends[filled[index]]
            row[: lengths[index]] = documents.tokens[end - lengths[index] : end]
        queries = np.repeat(tokens[None, :].astype(np.int64), len(batch), axis=0)
        likelihoods = session.run(OUTPUT, {INPUTS[0]: queries, INPUTS[1]: rows})
        scores[:, filled[batch]] = likelihoods.T
    return scores


RANKER = NeuralModel1
SETTINGS = NeuralModel1Settings
