"""Train TK or TKL as a Conformer-Kernel is trained.

Sources: Hofstätter et al. 2020 (ECAI and SIGIR); the training is that of Mitra et al. 2020, which
compares with both.
"""

from dataclasses import replace

from torch import Tensor

from ranklet.corpus.collections.collection import Collection
from ranklet.corpus.collections.splits import JudgedQueries
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.learning.weights import check_kind, load_trained
from ranklet.training.rankers.conformer_kernel import training as conformer_kernel
from ranklet.training.rankers.conformer_kernel.network import PairNetwork, Pairs, TermModel
from ranklet.training.rankers.tk.long_network import LongTransformerKernel
from ranklet.training.rankers.tk.network import TransformerKernel
from ranklet.training.rankers.tk.options import Options, TKNetwork


class TK(TermModel):
    """The score of a pair, which is the sum of its query terms' shares."""

    network: TKNetwork
    latent: PairNetwork

    def __init__(self, network: TKNetwork) -> None:
        kernel = LongTransformerKernel if network.architecture == "tkl" else TransformerKernel
        super().__init__(network, kernel(network))

    def forward(self, pairs: Pairs) -> Tensor:
        """Return the score of each pair, (pairs,) float32."""
        return self.latent_scores(pairs).sum(1)


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Learn to score pairs; arguments and errors are those of a Conformer-Kernel's training."""
    network = replace(options.network, architecture=options.settings.architecture)
    options = replace(options, network=network)
    return conformer_kernel.train_on_terms("tk", TK, collection, queries, dev, options)


def load(checkpoint: Checkpoint) -> TK:
    """Return the network of a TK's checkpoint, in evaluation mode.

    Raises:
        InputError: the checkpoint is of another kind, or its weights do not fit its config.json.
    """
    check_kind(checkpoint, "tk")
    return load_trained(TK(TKNetwork.of(checkpoint)), checkpoint.weights)
