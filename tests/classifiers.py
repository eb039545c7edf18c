"""Tiny cross-encoders with random weights, as transformers saves them, for the importer."""

import json
from pathlib import Path
from typing import Any

from tests.models import transformer_folder

ROBERTAS = ("roberta", "xlm-roberta", "mpnet")  # which read <s> query </s></s> document </s>
INPUTS = ("input_ids", "attention_mask")
TYPED = (*INPUTS, "token_type_ids")
SPREAD = 0.8  # standard deviation of the classifier's weights, so that scores of pairs differ
# What sentence-transformers writes into config.json, so that scores are logits.
LOGITS = {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}


def classifier_folder(folder: Path, architecture: str = "bert", **config: Any) -> Path:
    """Save a classifier of one label, and its tokenizer.

    Args:
        folder: where to.
        architecture: one of `tests.models.CLASSIFIERS`.
        config: further arguments of `transformer_folder`, such as num_labels.
    """
    from safetensors.torch import load_file, save_file
    from tokenizers import Tokenizer, processors

    kind = "words" if architecture == "mpnet" else ""
    config = {"num_labels": 1, **config}
    transformer_folder(folder, architecture, "ForSequenceClassification", kind, **config)
    weights = load_file(folder / "model.safetensors")
    for name, values in weights.items():
        if name.startswith("classifier") and values.ndim > 1:
            values *= float(SPREAD / values.float().std(correction=0))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    if architecture in ROBERTAS:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        first, _, last = tokenizer.encode("a").tokens
        begin, end = ((token, tokenizer.token_to_id(token) or 0) for token in (first, last))
        tokenizer.post_processor = processors.RobertaProcessing(end, begin)
        tokenizer.save(str(folder / "tokenizer.json"))
    inputs = TYPED if architecture in ("bert", "electra", "albert") else INPUTS
    change_json(folder / "tokenizer_config.json", model_input_names=inputs)
    return folder


def change_json(path: Path, **values: Any) -> None:
    """Change values of a JSON file, which may be missing."""
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**content, **values}))
