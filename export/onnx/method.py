"""A method of a network as a module, which can be traced as a graph of its own."""

from collections.abc import Callable

from torch import Tensor, nn


class Method(nn.Module):
    """A module that runs a method of a network in place of its ``forward``.

    Args:
        network: the network, whose weights these are.
        run: the method, or another function of the network's inputs.
    """

    def __init__(self, network: nn.Module, run: Callable[..., Tensor | tuple[Tensor, ...]]) -> None:
        super().__init__()
        self.network, self._run = network, run

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Return what the method returns."""
        return self._run(*inputs)
