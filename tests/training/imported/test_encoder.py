"""Networks are loaded by transformers' own code, in float32, and without their decoder."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.models import transformer_folder

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.imported.encoder import check_known, network_class, new_network, plain_config
from ranklet.training.imported.original import load_original


@pytest.mark.parametrize(
    ("own", "known"),
    [
        ({"AutoModel": "modeling_nomic.NomicBertModel"}, True),
        (
            {
                "AutoConfig": "nomic-ai/code--configuration_own.NomicBertConfig",
                "AutoModel": "nomic-ai/code--modeling_own.NomicBertModel",
                "AutoModelForMaskedLM": "nomic-ai/code--modeling_own.NomicBertForPreTraining",
            },
            True,
        ),
        ({"AutoModel": "modeling.Own"}, False),
        ({"AutoConfig": "own.OwnConfig", "AutoModel": "own.NomicBertModel"}, False),
        ({"AutoModel": 7}, False),
    ],
)
def test_code_of_a_folder_is_not_needed_where_transformers_has_it(own: Any, known: bool) -> None:
    config = {"model_type": "nomic_bert", "auto_map": own}
    if known:
        check_known(Path("model"), config)
    else:
        with pytest.raises(ModelFolderError, match=r"'model' needs code of its own .* has no "):
            check_known(Path("model"), config)


def test_a_network_with_a_decoder_is_loaded_as_its_encoder() -> None:
    for kind, name in {"t5": "T5EncoderModel", "umt5": "UMT5EncoderModel"}.items():
        assert network_class("AutoModel", {"model_type": kind}).__name__ == name
    assert network_class("AutoModel", {"model_type": "bert"}).__name__ == "AutoModel"
    assert network_class("AutoModelForMaskedLM", {"model_type": "t5"}).__name__.endswith("MaskedLM")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_network_saved_in_16_bits_is_one_of_32(dtype: str, tmp_path: Path) -> None:
    folder = transformer_folder(tmp_path / "model", "gemma3", saved_as=dtype)
    assert json.loads((folder / "config.json").read_text())["dtype"] == dtype
    network = load_original("SentenceTransformer", folder)[0].model
    again = new_network("AutoModel", {**plain_config(network), "dtype": dtype}, "eager")
    for each in (network, again):
        values = [*each.state_dict().values(), *each.buffers()]
        assert {value.dtype for value in values if value.is_floating_point()} == {torch.float32}
    scales = [float(each.embed_tokens.embed_scale) for each in (network, again)]  # type: ignore[union-attr,arg-type]
    assert scales == pytest.approx([32**0.5] * 2, rel=1e-6)  # 16 bits would round it
