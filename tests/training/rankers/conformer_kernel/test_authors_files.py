"""Our network scores as the authors' own files do with the same weights."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.training.rankers.authors_files import authors_module
from tests.training.rankers.conformer_kernel.test_importing import theirs
from tests.training.rankers.conformer_kernel.test_network import DOCUMENT, QUERY, model, pairs

FOLDER = "TREC-Deep-Learning-Quick-Start"
ROWS = {1: 0}  # our unknown word is their row 0; <S> and </S> are 1 and 2, and words follow


def row(ours: int) -> int:
    """Return their row of a word."""
    return ROWS.get(ours, ours + 1)


@pytest.mark.parametrize("document", [DOCUMENT, DOCUMENT[:1], DOCUMENT * 3])
@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2", "ndrm3"])
def test_ndrm(architecture: str, document: list[int]) -> None:
    conformer = authors_module(f"{FOLDER}/conformer.py", "conformer")
    published = authors_module(f"{FOLDER}/model.py", "model", conformer=conformer)
    net, longest = model(architecture, layers=1), 42
    weights = theirs(net, architecture)
    arguments = SimpleNamespace(
        vocab_size=31, num_hidden_nodes=8, drop=0.0, max_terms_doc=longest, no_conformer=False,
        num_attn_heads=2, conv_window_size=3, num_encoder_layers=1, rbf_kernel_dim=4,
        rbf_kernel_pool_size=4, rbf_kernel_pool_stride=2,
    )  # fmt: skip
    utils = SimpleNamespace(args=arguments, pretrained_embeddings=torch.zeros(31, 8))
    network: Any = getattr(published, architecture.upper())(utils).eval()
    own = network.state_dict()
    kept = ("pos_encoder.pe", "rbf_kernel.mus", "rbf_kernel.denom")  # constants
    network.load_state_dict(
        {name: own[name] if name.endswith(kept) else weights[name].reshape(each.shape)
         for name, each in own.items()}
    )  # fmt: skip
    framed = [1, *map(row, document), 2]
    rows = torch.tensor([[framed + [0] * (longest - len(framed))]])
    mask = (torch.arange(longest) < len(framed)).float()[None, None]
    ours = pairs(QUERY, document)
    asked, alive = torch.tensor([list(map(row, QUERY))]), torch.ones(1, len(QUERY))
    latent = (asked, rows, alive, mask)
    length = torch.tensor([[float(len(framed))]])
    with torch.no_grad():
        if architecture == "ndrm1":
            wanted = network(*latent, qti_mode=True)
        elif architecture == "ndrm2":
            wanted = network(ours.tf[None], alive, ours.idf, length, qti_mode=True)
        else:
            wanted = network(
                asked, rows, ours.tf[None], alive, mask, ours.idf, length, qti_mode=True
            )
        found = net.term_scores(ours)
    torch.testing.assert_close(found[0], wanted[0, 0], rtol=1e-4, atol=1e-5)
