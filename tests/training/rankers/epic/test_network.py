"""Our network encodes as the authors' own file does with the same weights."""

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from tests.training.rankers.authors_files import authors_module

from ranklet.training.learning.device import seeded
from ranklet.training.rankers.epic.network import EPIC, EPICHead

HIDDEN, WORDS = 8, 20


def module(name: str, **own: Any) -> ModuleType:
    """Return a module for theirs to import, because the real one wants a dozen packages."""
    made = ModuleType(name)
    vars(made).update(own)
    return made


def published() -> Any:
    class Ranker(torch.nn.Module):
        def __init__(self, config: dict[str, Any], _: object) -> None:
            super().__init__()
            self.config = config

    def mask(lengths: torch.Tensor, size: int) -> torch.Tensor:
        return (torch.arange(size) < lengths[:, None]).long()

    rankers = module("onir.rankers", Ranker=Ranker, register=lambda _: lambda made: made)
    onir = module("onir", rankers=rankers, util=module("onir.util", lens2mask=mask))
    return authors_module("OpenNIR/onir/rankers/epic.py", "epic", onir=onir)


@pytest.mark.filterwarnings("ignore:torch.sparse")
def test_the_authors_own_file_encodes_as_our_network() -> None:
    theirs = published()
    with seeded(5):
        head = EPICHead(HIDDEN, WORDS, [0]).eval()
        states = torch.randn(1, 6, HIDDEN)  # [CLS], four terms, [SEP]
    ids = torch.tensor([[0, 7, 9, 7, 3, 0]])
    encoder = SimpleNamespace(
        static=lambda: False,
        dim=lambda: HIDDEN,
        bert=SimpleNamespace(
            cls=SimpleNamespace(predictions=lambda each: head.expansion(head.transform(each)))
        ),
    )
    vocabulary = SimpleNamespace(encoder=lambda: encoder, lexicon_size=lambda: WORDS)
    network = theirs.EpicRanker(vocabulary, {}, None, None).eval()
    for name, own in (
        ("query_salience", head.query_importance), ("doc_salience", head.document_importance),
        ("doc_quality", head.quality),
    ):  # fmt: skip
        getattr(network, name).load_state_dict(own.state_dict())

    class Encoder(torch.nn.Module):
        def forward(self, **_: Any) -> Any:
            return SimpleNamespace(last_hidden_state=states)

    ours = EPIC(Encoder(), head)
    ones = torch.ones_like(ids)
    length = torch.tensor([4])
    with torch.no_grad():
        document, _ = network.doc_full_vector(states[:, 1:-1], length, states[:, 0])
        query = network.query_full_vector(states[:, 1:-1], length, ids[:, 1:-1].clone())
        weights = torch.zeros(1, WORDS).index_add_(1, ids[0], ours.query(ids, ones, ones))
        found = ours.document(ids, ones, ones)
    torch.testing.assert_close(weights, query)
    torch.testing.assert_close(found[:, 1:], document[:, 1:])  # 0 is a special token here
    torch.testing.assert_close((weights * found).sum(1), network.similarity(query, found))
