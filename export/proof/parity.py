"""Outputs of PyTorch and of every variant on fixed texts, so that any program can check itself."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.collections.neutral_texts import neutral_documents, neutral_queries
from ranklet.corpus.collections.probes import Probes
from ranklet.export.proof.vectors import VectorScore
from ranklet.runtime.onnx.parity import TOLERANCES
from ranklet.runtime.onnx.session import Runs
from ranklet.version import __version__

if TYPE_CHECKING:
    from ranklet.export.onnx.whole import Whole

QUERIES, DOCUMENTS = 15, 35
PAIRED = 5, 10  # for a network that reads pairs, so that there are as many runs
LONGEST = 300  # characters of a document
NUMBERS = 16  # of an output that are stored; at least one of each row
TORCH = "torch"


def parity_texts() -> Probes:
    """Return the 50 texts, in many languages and scripts."""
    short = [text for text in neutral_documents(2 * DOCUMENTS) if len(text) <= LONGEST]
    return Probes(neutral_queries(QUERIES), tuple(short[:DOCUMENTS]), ((),) * QUERIES)


class _Recorder:
    """A session that runs one input after another, and remembers what it was given and returned."""

    by_length, workers = False, 1

    def __init__(self, session: Runs, at: "Sequence[Mapping[str, Any]]" = ()) -> None:
        self._session, self._at = session, at
        self.provider, self.on_gpu, self.outputs = session.provider, False, session.outputs
        self.feeds: list[Mapping[str, NDArray[Any]]] = []
        self.runs: list[dict[str, Any]] = []

    def run(self, output: str, feeds: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        values = self._session.run(output, feeds)
        known = self._at[len(self.runs)]["at"] if self._at else None
        self.feeds.append(feeds)
        self.runs.append(_summarise(values, known))
        return values


class Parity:
    """Collects what `parity.json` has.

    Args:
        inputs: names of the inputs of each graph.
        outputs: the name of each graph's output.
        score: scores texts by sessions; see `export_proven`.
        paired: whether the network reads pairs of texts.
        torch: PyTorch's sessions.
    """

    def __init__(
        self,
        inputs: Sequence[Sequence[str]],
        outputs: Sequence[str],
        score: Callable[[Sequence[Runs], Probes], NDArray[np.float32]],
        torch: Sequence[Runs],
        *,
        paired: bool,
    ) -> None:
        texts = parity_texts()
        self._texts = texts.first(*PAIRED) if paired else texts
        self._score, self._inputs, self._outputs = score, inputs, outputs
        self._files: list[dict[str, str]] = [{} for _ in inputs]
        self._runs: dict[str, list[list[dict[str, Any]]]] = {}
        self._vectors: dict[str, list[dict[str, Any]]] = {}
        self._scores: dict[str, Any] = {}
        self._feeds = [each.feeds for each in self._record(TORCH, torch)]

    def add(self, variant: str, sessions: Sequence[Runs], files: Sequence[str]) -> None:
        """Run a variant, whose graphs have these files."""
        self._record(variant, sessions)
        for known, file in zip(self._files, files, strict=True):
            known[variant] = file

    def _record(self, variant: str, sessions: Sequence[Runs]) -> list[_Recorder]:
        known = self._runs.get(TORCH, [[] for _ in sessions])
        recorders = [_Recorder(*each) for each in zip(sessions, known, strict=True)]
        if isinstance(self._score, VectorScore):
            queries, documents = self._score.encode(recorders, self._texts)
            vectors = [*queries, *documents]
            at = [each["at"] for each in self._vectors.get(TORCH, ())] or [None] * len(vectors)
            self._vectors[variant] = [_summarise(*each) for each in zip(vectors, at, strict=True)]
            scores = queries @ documents.T
        else:
            scores = self._score(recorders, self._texts)
        self._scores[variant] = _rounded(scores)
        self._runs[variant] = [each.runs for each in recorders]
        return recorders

    def to_json(self, whole: "Whole | None" = None) -> bytes:
        """Return the content of the file; `whole` knows the ids of all tokens."""
        graphs = []
        for graph, (inputs, output) in enumerate(zip(self._inputs, self._outputs, strict=True)):
            every = {variant: runs[graph] for variant, runs in self._runs.items()}
            rows = _joined(every)
            for row, feeds in zip(rows, self._feeds[graph], strict=True):
                row["inputs"] = {
                    name: (whole.former[ids] if whole and name == "input_ids" else ids).tolist()
                    for name, ids in feeds.items()
                    if name in inputs
                }
            graphs.append({"output": output, "files": self._files[graph], "runs": rows})
        described = {
            "ranklet": __version__,
            "tolerances": TOLERANCES,
            "queries": self._texts.queries,
            "documents": self._texts.documents,
            "graphs": graphs,
            "vectors": _joined(self._vectors),
            "scores": self._scores,
        }
        return json.dumps(described, ensure_ascii=False, separators=(",", ":")).encode()


def _joined(every: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return a row per run, with the numbers of each variant."""
    return [
        {
            "shape": first["shape"],
            "at": first["at"],
            "norm": {name: runs[at]["norm"] for name, runs in every.items()},
            "values": {name: runs[at]["values"] for name, runs in every.items()},
        }
        for at, first in enumerate(every.get(TORCH, ()))
    ]


def _summarise(values: NDArray[np.float32], at: Sequence[int] | None = None) -> dict[str, Any]:
    """Return an output's norm and its largest numbers, those of PyTorch's for every variant."""
    if at is None:
        rows = np.abs(values.reshape(-1, values.shape[-1]))
        most = min(rows.shape[1], max(1, NUMBERS // len(rows)))
        columns = np.sort(np.argsort(-rows, kind="stable")[:, :most])
        at = (columns + np.arange(len(rows))[:, None] * rows.shape[1]).reshape(-1).tolist()
    norm = float(f"{np.linalg.norm(values.astype(np.float64)):.7g}")
    flat = values.reshape(-1)[at]
    return {"shape": list(values.shape), "at": at, "norm": norm, "values": _rounded(flat)}


def _rounded(values: NDArray[np.float32]) -> Any:
    """Return numbers with six digits, as nested lists."""
    if values.ndim > 1:
        return [_rounded(row) for row in values]
    return [float(f"{value:.6g}") for value in values.tolist()]
