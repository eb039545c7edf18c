"""EPIC's published weights rank as OpenNIR ranks with them; the folders have random weights."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.models import LONGEST, TEXTS, probes, transformer_folder

from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime import load
from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.imported.importing import read_model
from ranklet.training.rankers.epic import training as epic

QUERIES = TEXTS[:2]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Return an unpacked checkpoint of OpenNIR with the files of its BERT."""
    folder = transformer_folder(tmp_path / "epic", head="ForPreTraining")
    stored, weights = load_file(folder / "model.safetensors"), dict[str, torch.Tensor]()
    random = torch.Generator().manual_seed(3)
    for name, values in stored.items():
        weights[f"encoder.bert.{name}"] = values.clone()
    weights["encoder.bert.cls.predictions.decoder.weight"] = stored[
        "bert.embeddings.word_embeddings.weight"
    ].clone()
    for name in ("query_salience", "doc_salience", "doc_quality"):
        weights[f"{name}.weight"] = torch.randn(1, 32, generator=random)
        weights[f"{name}.bias"] = torch.randn(1, generator=random)
    weights["encoder.bert.bert.cls.predictions.bias"] = torch.zeros(7)
    weights["_nil"] = torch.zeros(1)
    save_file(weights, folder / "model.safetensors")
    own = {"": "bert", "bert_base": "bert-base-uncased", "encoding": "sep", "last_layer": True}
    (folder / "vocab.json").write_text(json.dumps(own))
    (folder / "ranker.json").write_text(json.dumps({"": "epic", "qlen": 500, "dlen": 30}))
    return folder


def scores(folder: Path) -> np.ndarray[Any, Any]:
    """Return the scores of `TEXTS` for `QUERIES` by what OpenNIR does, (queries, texts)."""
    from transformers import AutoTokenizer, BertForMaskedLM

    weights = load_file(folder / "model.safetensors")
    bert: Any = BertForMaskedLM.from_pretrained(folder, state_dict=None)  # its shape
    bert.eval()
    inner = {name.removeprefix("encoder.bert."): each for name, each in weights.items()}
    inner["cls.predictions.decoder.bias"] = inner["cls.predictions.bias"]
    bert.load_state_dict({name: inner[name] for name in bert.state_dict()})
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def states(text: str, segment: int, most: int) -> tuple[torch.Tensor, torch.Tensor]:
        ids = torch.tensor([tokenizer(text, truncation=True, max_length=most)["input_ids"]])
        with torch.inference_mode():
            found = bert.bert(ids, token_type_ids=torch.full_like(ids, segment))
        return ids[0, 1:-1], found.last_hidden_state[0]

    def linear(name: str, values: torch.Tensor) -> torch.Tensor:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def positive(values: torch.Tensor) -> torch.Tensor:
        return (1 + torch.nn.functional.softplus(values)).log()

    table = []
    for query in QUERIES:
        terms, states_q = states(query, 0, LONGEST)
        own = positive(linear("query_salience", states_q[1:-1]))[:, 0]
        row = []
        for text in TEXTS:
            _, found = states(text, 1, 32)
            with torch.inference_mode():
                expanded = positive(bert.cls(found[1:-1]))
            best = (expanded * positive(linear("doc_salience", found[1:-1]))).max(0).values
            best = best * torch.sigmoid(linear("doc_quality", found[0]))
            row.append(float((own * best[terms]).sum()))
        table.append(row)
    return np.array(table)


def test_weights_of_opennir_score_as_it_does(published: Path) -> None:
    checkpoint = read_model(published)
    settings = checkpoint.settings
    assert (settings.max_query_tokens, settings.max_document_tokens) == (80, 32)
    network, tokenizer = epic.load(checkpoint), checkpoint.need_tokenizer()

    def ids(text: str, most: int) -> torch.Tensor:
        own = tokenizer.encode(text).ids
        return (
            torch.tensor([[*own[: most - 1], own[-1]]]) if len(own) > most else torch.tensor([own])
        )

    table = []
    with torch.inference_mode():
        for query in QUERIES:
            row, asked = [], ids(query, LONGEST)
            weights = network.query(asked, torch.ones_like(asked), torch.zeros_like(asked))[0]
            for text in TEXTS:
                read = ids(text, 32)
                found = network.document(read, torch.ones_like(read), torch.ones_like(read))[0]
                row.append(float((weights * found[asked[0]]).sum()))
            table.append(row)
    np.testing.assert_allclose(table, scores(published), rtol=1e-4)


@pytest.mark.slow
def test_a_bundle_of_them_ranks_as_opennir_does(published: Path, tmp_path: Path) -> None:
    options = ExportOptions(variants=("fp32",), probes=probes())
    bundle = load(export_bundle({"epic": read_model(published)}, tmp_path / "bundle", options))
    for query, wanted in zip(QUERIES, scores(published), strict=True):
        order = np.argsort(-bundle.score(query, TEXTS), kind="stable")
        assert order.tolist() == np.argsort(-wanted, kind="stable").tolist()


def changed(**own: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for file in ("vocab.json", "ranker.json", "config.json"):
            known = json.loads((folder / file).read_text())
            known.update({name: own[name] for name in own.keys() & known.keys()})
            (folder / file).write_text(json.dumps(known))

    return change


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "weights.p")


def bare(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (bare, "the tokenizer of .* cannot be loaded"),
        (changed(encoding="joint"), "EPIC with encoding 'joint'"),
        (changed(last_layer=False), "EPIC with last_layer False"),
        (changed(dlen="many"), "dlen is 'many', which is no number"),
        (changed(model_type="roberta"), "copy config.json and the tokenizer of bert-base-uncased"),
        (changed(hidden_size=64), "they must belong to one bert-base-uncased"),
        (pickled, "weights.p, a pickle file"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    change: Callable[[Path], None], fault: str, published: Path
) -> None:
    change(published)
    with pytest.raises(ModelFolderError, match=fault) as raised:
        read_model(published)
    assert "\n" not in str(raised.value)
