"""The part of a neural Model 1 that is exported: everything before the smoothing."""

from torch import Tensor, nn

from ranklet.training.rankers.neural_model1.network import NeuralModel1, even_shares


class LikelihoodGraph(nn.Module):
    """Σ_d T(q|d) P(d|D) for each query token (Boytsov & Kolter, eq. 4).

    The runtime does the smoothing, because P(q|C) belongs to the collection that is served.
    """

    def __init__(self, model: NeuralModel1) -> None:
        super().__init__()
        self.model = model

    def forward(self, query_ids: Tensor, document_ids: Tensor) -> Tensor:
        """Return the likelihoods, 0 for padding.

        Args:
            query_ids: (batch, query tokens) int64, padded with [PAD].
            document_ids: (batch, document tokens) int64, padded with [PAD].

        Returns:
            (batch, query tokens) float32.
        """
        padding = self.model.network.padding
        shares = even_shares(document_ids, padding).unsqueeze(2)
        likelihoods = (self.model.mixed(query_ids, document_ids) @ shares).squeeze(2)
        return likelihoods * (query_ids != padding)
