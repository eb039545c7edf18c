"""A network as other libraries run it: its graph ends before the pooling, which they do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.probes import Probes
from ranklet.export.errors import ExportError
from ranklet.export.proof.variants import Graph, Score
from ranklet.runtime.onnx.session import Runs

if TYPE_CHECKING:
    from torch import Tensor

# The names of outputs that transformers.js, FastEmbed and sentence-transformers read.
STATES, LOGITS, TOKENS = "last_hidden_state", "logits", "token_embeddings"
SAME = {STATES: (STATES, TOKENS), TOKENS: (TOKENS, STATES), LOGITS: (LOGITS,)}  # also read

GRAPHS = "onnx/"  # the folder of graphs in that of a transformer

# Returns what ranklet's own graph would, from an output and the inputs.
Pool = Callable[["Tensor", "Mapping[str, Tensor]"], "Tensor"]


class AsOthers(NamedTuple):
    """A ranker's network as other libraries run it.

    Attributes:
        graph: the graph, whose output is one of `SAME`.
        score: scores texts by a session of each graph; see `export_proven`.
        probes: what is scored.
        task: what the hub calls it.
        runs: how often the model runs to score the probes; see `export_proven`.
        queries: the graph of a network that encodes queries alone.
    """

    graph: Graph
    score: Score
    probes: Probes
    task: str
    runs: int | None = None
    queries: Graph | None = None

    def place(self, places: Sequence[str]) -> list[Graph]:
        """Return the graphs, the first of documents, with the folders that they lie in.

        Args:
            places: of the transformers; one place has one that both sides share.
        """
        graphs = filter(None, (self.graph, self.queries))
        return [
            replace(each, folder=f"{place}{GRAPHS}")
            for each, place in zip(graphs, places, strict=False)
        ]


class Pooled:
    """A session of ranklet's own graph, made of a session of a graph that ends before the pooling.

    Args:
        session: of the other graph.
        graph: says which inputs and which output the other graph has.
        output: the name of the output of ranklet's own graph.
        pool: what comes after the other graph.

    Raises:
        ExportError: the other graph has no such output.
    """

    by_length = False
    workers = 1
    outputs: tuple[str, ...]

    def __init__(self, session: Runs, graph: Graph, output: str, pool: Pool) -> None:
        self._session, self._pool, self._inputs = session, pool, tuple(graph.inputs)
        self.provider, self.on_gpu, self.outputs = session.provider, session.on_gpu, (output,)
        known = session.outputs or (graph.output,)  # PyTorch names none
        found = [name for name in SAME[graph.output] if name in known]
        if not found:
            raise ExportError(
                f"the graph has the outputs {', '.join(known)}, but not {graph.output}, which "
                "others read"
            )
        self._read = found[0]

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:  # noqa: ARG002
        """Return what ranklet's own graph would."""
        import torch

        own = {name: feeds[name] for name in self._inputs}
        states = torch.from_numpy(self._session.run(self._read, own))
        with torch.inference_mode():
            given = {name: torch.from_numpy(each) for name, each in feeds.items()}
            made = self._pool(states, given)
        return np.asarray(made.numpy(), np.float32)
