"""The outputs of a light ranker's network, as modules that can be traced."""

from torch import Tensor, nn

from ranklet.training.rankers.srm.network import LightNetwork


class Vectors(nn.Module):
    """Returns the light vectors, and the weights of their sub-embeddings if codes need them.

    Args:
        network: the ranker's network.
        weights: whether there is the second output.
    """

    def __init__(self, network: LightNetwork, *, weights: bool) -> None:
        super().__init__()
        self.network, self._weights = network, weights

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return the outputs for the inputs of the network."""
        vectors, weights = self.network(*inputs)
        return (vectors, weights) if self._weights else vectors


class Weights(nn.Module):
    """Returns the weights of sub-embeddings alone, (texts, tokens, K) float32.

    Args:
        network: the ranker's network.
    """

    def __init__(self, network: LightNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the weights for the inputs of the network."""
        weights: Tensor = self.network(*inputs)[1]
        return weights
