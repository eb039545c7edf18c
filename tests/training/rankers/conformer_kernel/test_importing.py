"""Weights as the authors' code saves them score as the network that they were taken from."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.training.rankers.authors_files import authors_module
from tests.training.rankers.conformer_kernel.test_network import DOCUMENT, QUERY, model, pairs

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.checkpoint import read_checkpoint
from ranklet.training.imported.importing import read_model
from ranklet.training.rankers.conformer_kernel.network import ConformerKernel
from ranklet.training.rankers.conformer_kernel.training import load

WORDS = [f"word{at}" for at in range(28)]
BLOCK = {
    "convolution": "conv_layer", "attention.out": "self_attn.out_proj", "dense.0": "linear1",
    "dense.3": "linear2", "norms.0": "norm1", "norms.1": "norm2",
}  # fmt: skip


def theirs(net: ConformerKernel, architecture: str) -> dict[str, torch.Tensor]:
    """Return the weights of a network under the authors' names, in the authors' shapes."""
    own, found = net.state_dict(), dict[str, torch.Tensor]()
    if net.latent is not None:
        rows = own["latent.encoder.embedding.weight"]
        found["ndrm1.embed.weight"] = torch.cat([rows[1:2], rows[-2:], rows[2:-2]])
        found["ndrm1.pos_encoder.pe"] = torch.zeros(42, 1, 8)
        block, layer = "latent.encoder.blocks.0.", "ndrm1.contextualize.layers.0."
        for kind in ("weight", "bias"):
            for ours, name in BLOCK.items():
                found[f"{layer}{name}.{kind}"] = own[f"{block}{ours}.{kind}"]
            attention = own[f"{block}attention.projections.{kind}"]
            found[f"{layer}self_attn.in_proj_{kind}"] = attention
            found[f"ndrm1.fc_ctx.{kind}"] = own[f"latent.encoder.mix.{kind}"]
            found[f"ndrm1.fc_qt.{kind}"] = own[f"latent.query.{kind}"]
            for part in ("0", "3"):
                found[f"ndrm1.rbf_kernel.fc.{part}.{kind}"] = own[f"latent.dense.{part}.{kind}"]
        found["ndrm1.rbf_kernel.mus"] = torch.zeros(1, 1, 1, 1, 4)
    if net.explicit is not None:
        for part, name in (("tf", "norm_tf"), ("length", "norm_dlen")):
            found[f"ndrm2.{name}.running_mean"] = own[f"explicit.{part}.mean"].reshape(1)
            found[f"ndrm2.{name}.num_samples"] = torch.tensor(9.0)
        found["ndrm2.fc_dlen.0.weight"] = own["explicit.weight"].reshape(1, 1)
        found["ndrm2.fc_dlen.0.bias"] = own["explicit.bias"].reshape(1)
    if net.both is not None:
        for part, kinds in (
            ("norm", ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")),
            ("both", ("weight", "bias")),
        ):
            place = {"norm": "fc.0", "both": "fc.1"}[part]
            found |= {f"{place}.{kind}": own[f"{part}.{kind}"] for kind in kinds}
    prefix = "" if architecture == "ndrm3" else f"{architecture}."
    return {name.removeprefix(prefix): each.clone() for name, each in found.items()}


def saved(folder: Path, net: ConformerKernel, architecture: str) -> Path:
    folder.mkdir()
    save_file(theirs(net, architecture), folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    own = {"model": architecture, "rbf_kernel_pool_size": 4, "rbf_kernel_pool_stride": 2}
    (folder / "config.json").write_text(json.dumps(own))
    return folder


@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2", "ndrm3"])
def test_imported_weights_score_as_the_authors_network(architecture: str, tmp_path: Path) -> None:
    net = model(architecture)
    checkpoint = read_model(saved(tmp_path / "m", net, architecture))
    imported = load(checkpoint)
    pair = pairs(QUERY, DOCUMENT)
    with torch.no_grad():
        wanted, made = net.term_scores(pair), imported.term_scores(pair)
    assert made.numpy() == pytest.approx(wanted.numpy(), abs=1e-5)
    assert checkpoint.settings.architecture == architecture
    assert checkpoint.tokens == (() if architecture == "ndrm2" else tuple(WORDS))
    if architecture != "ndrm2":
        assert checkpoint.settings.max_document_terms == 40
    again = load(read_checkpoint(checkpoint.save(tmp_path / "saved")))
    with torch.no_grad():
        assert torch.equal(again.term_scores(pair), made)


def without(file: str) -> Callable[[Path], None]:
    return lambda folder: (folder / file).unlink()


def config(**own: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        known = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**known, **own}))

    return change


def fewer(folder: Path) -> None:
    (folder / "vocab.txt").write_text("one\n")


def flat(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["ndrm1.embed.weight"] = weights["ndrm1.embed.weight"].reshape(-1)
    save_file(weights, folder / "model.safetensors")


def part(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["ndrm1.fc_qt.bias"]
    save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (flat, "cannot be loaded"),
        (part, "'latent.query.bias' is missing"),
        (without("vocab.txt"), "write the words of the fastText model there"),
        (without("model.safetensors"), "has no model.safetensors"),
        (fewer, "has 1 words, and the embeddings have 28"),
        (config(rbf_kernel_pool_size="all"), "rbf_kernel_pool_size is 'all'"),
        (config(model="ndrm1"), "has no ndrm1.embed.weight"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    change: Callable[[Path], None], fault: str, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "m", model("ndrm3"), "ndrm3")
    change(folder)
    with pytest.raises(ModelFolderError, match=fault) as raised:
        read_model(folder)
    assert "\n" not in str(raised.value)


FOLDER = "TREC-Deep-Learning-Quick-Start"


def row(ours: int) -> int:
    """Return their row of a word: 0 if it is unknown, 1 and 2 are <S> and </S>, words follow."""
    return 0 if ours == 1 else ours + 1


@pytest.mark.parametrize("document", [DOCUMENT, DOCUMENT[:1], DOCUMENT * 3])
@pytest.mark.parametrize("architecture", ["ndrm1", "ndrm2", "ndrm3"])
def test_the_authors_own_files_score_as_our_network(architecture: str, document: list[int]) -> None:
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
