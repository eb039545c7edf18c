"""TK and TKL as models of pairs, which training and export see."""

from torch import Tensor

from ranklet.training.rankers.conformer_kernel.network import PairNetwork, Pairs, TermModel
from ranklet.training.rankers.tk.long_network import LongTransformerKernel
from ranklet.training.rankers.tk.network import TransformerEncoder, TransformerKernel
from ranklet.training.rankers.tk.sizes import TKNetwork


class TK(TermModel):
    """The score of a pair, which is the sum of its query terms' shares."""

    network: TKNetwork
    latent: PairNetwork

    def __init__(self, network: TKNetwork) -> None:
        encoder = TransformerEncoder(network)
        kernel = LongTransformerKernel if network.architecture == "tkl" else TransformerKernel
        super().__init__(network, kernel(encoder, network))

    def forward(self, pairs: Pairs) -> Tensor:
        """Return the score of each pair, (pairs,) float32."""
        return self.latent_scores(pairs).sum(1)
