import torch

from ranklet.training.rankers.neural_model1.network import NetworkTranslation


def test_documents_without_a_known_token_translate_nothing() -> None:
    network = NetworkTranslation(10, 4, (3, 2))
    queries, nothing = torch.tensor([[1, 2, 3]]), torch.empty((1, 0), dtype=torch.int64)
    assert network(queries, nothing).shape == (1, 3, 0)
