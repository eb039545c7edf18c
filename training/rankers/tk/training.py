"""Training a TK, as a Conformer-Kernel is trained.

Source: Hofstätter et al. 2020; the training is that of Mitra et al. 2020 (paper 002), which
compares with it.
"""

from collections.abc import Sequence
from typing import Any

from ranklet.runtime.rankers.tk import TKSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.data.splits import JudgedQuery
from ranklet.training.indexing.analysed import AnalysedCollection
from ranklet.training.learning.weights import load_weights
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.tk.network import TK, TKNetwork

PLAN, DATA, SETTINGS = conformer_kernel.PLAN, conformer_kernel.DATA, TKSettings()


def train(
    analysed: AnalysedCollection,
    queries: Sequence[JudgedQuery],
    dev: Sequence[JudgedQuery],
    *,
    settings: TKSettings = SETTINGS,
    network: dict[str, Any] | None = None,
    **options: Any,
) -> Checkpoint:
    """Learn to score pairs.

    Args:
        analysed: see `train_on_terms`.
        queries: what it learns from.
        dev: other queries.
        settings: field and limits.
        network: sizes, by the names of `TKNetwork`; None for the paper's.
        **options: of `train_on_terms`.

    Raises:
        InputError, TrainingError: see `train_on_terms`.
    """
    return conformer_kernel.train_on_terms(
        "tk",
        lambda rows: TK(TKNetwork(rows, **(network or {}))),
        analysed,
        queries,
        dev,
        settings=settings,
        **options,
    )


def load(checkpoint: Checkpoint) -> TK:
    """Return the network of a checkpoint, in evaluation mode.

    Raises:
        InputError: it is of another kind, or its weights do not fit its config.json.
    """
    conformer_kernel.check_kind(checkpoint, "tk")
    model = TK(TKNetwork.from_json(checkpoint.network))
    load_weights(model, checkpoint.weights)
    return model.eval()
