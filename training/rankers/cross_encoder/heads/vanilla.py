"""The vanilla head: one linear layer on the mean [CLS] vector."""

from torch import Tensor, nn

from ranklet.training.rankers.cross_encoder.heads import HeadSizes
from ranklet.training.rankers.cross_encoder.heads.pair_states import PairStates

DROPOUT = 0.1


class Vanilla(nn.Module):
    """score = w · mean over chunks of [CLS] + b (Boytsov & Kolter, §3, vanilla short and full)."""

    def __init__(self, name: str, sizes: HeadSizes) -> None:  # noqa: ARG002
        super().__init__()
        self.dropout = nn.Dropout(DROPOUT)
        self.linear = nn.Linear(sizes.hidden, 1)
        nn.init.normal_(self.linear.weight, std=0.02)  # as BERT's own layers begin
        nn.init.zeros_(self.linear.bias)

    def forward(self, states: PairStates) -> Tensor:
        """Return one score per pair, (pairs,) float32."""
        scores: Tensor = self.linear(self.dropout(states.cls)).squeeze(1)
        return scores


HEAD = Vanilla
