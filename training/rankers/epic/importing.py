"""Import the weights of EPIC that its authors' OpenNIR has saved.

Their archive has ranker.json, vocab.json and weights.p, a pickle of PyTorch. The folder has the
weights as model.safetensors, and beside them config.json and the tokenizer of the BERT that
vocab.json names.
"""

from collections.abc import Mapping
from typing import Any

import torch

from ranklet.corpus.indexing.wordpieces import special_tokens
from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.rankers.epic import EPICSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.authors import own_name, read_length
from ranklet.training.imported.encoder import check_known, plain_config
from ranklet.training.imported.folder import CONFIG, WEIGHTS, ModelFolder, read_arrays
from ranklet.training.imported.tokenizer import model_tokenizer, position_rows
from ranklet.training.learning.weights import take_weights
from ranklet.training.pretrained.backbone import new_model
from ranklet.training.rankers.epic.forms import RANKER
from ranklet.training.rankers.epic.network import EPIC, EPICHead

VOCABULARY = "vocab.json"  # OpenNIR's settings of the encoder
# Settings under which an encoder reads a text alone and to its last layer, as EPIC needs it.
NEEDED: Mapping[str, Any] = {"": "bert", "encoding": "sep", "last_layer": True, "layer": -1}
LENGTHS = {"qlen": 500, "dlen": 2000}  # tokens that OpenNIR reads unless it is told another number
AROUND = 2  # [CLS] and [SEP], which OpenNIR does not count
# Its names of parts and ours; the BERT there has heads of its own, too, which nothing reads.
NAMES = (
    (r"encoder\.bert\.bert\.(embeddings|encoder)\.", r"encoder.\1."),
    (r"encoder\.bert\.cls\.predictions\.transform\.dense\.", "head.dense."),
    (r"encoder\.bert\.cls\.predictions\.transform\.LayerNorm\.", "head.norm."),
    (r"encoder\.bert\.cls\.predictions\.decoder\.weight$", "head.expansion.weight"),
    (r"encoder\.bert\.cls\.predictions\.bias$", "head.expansion.bias"),
    (r"query_salience\.", "head.query_importance."),
    (r"doc_salience\.", "head.document_importance."),
    (r"doc_quality\.", "head.quality."),
)


def import_model(folder: ModelFolder) -> Checkpoint:
    """Return EPIC as a checkpoint.

    It reads as many tokens as OpenNIR, up to what the network has positions for. [UNK] is no term.

    Raises:
        ModelFolderError: the folder lacks a part, or its encoder reads texts in another way.
    """
    ranker, encoder = folder.json(RANKER), {**NEEDED, **folder.json(VOCABULARY)}
    other = [
        f"{name or 'name'} {encoder[name]!r}" for name in NEEDED if encoder[name] != NEEDED[name]
    ]
    if other or ranker.get("add_runscore"):
        raise ModelFolderError(
            f"{str(folder.path)!r} is an EPIC with {', '.join(other) or 'add_runscore'}; supported "
            "is a bert that encodes texts apart (sep) up to its last layer"
        )
    base = str(encoder.get("bert_base", "the BERT"))
    if folder.config.get("model_type") != "bert":
        raise ModelFolderError(
            f"{str(folder.path / CONFIG)!r} describes no BERT; copy {CONFIG} and the tokenizer of "
            f"{base} into the folder"
        )
    check_known(folder.path, folder.config)
    weights, tokenizer = read_arrays(folder.path), model_tokenizer(folder.path)
    bert: Any = new_model(folder.config)
    network = EPIC(
        bert, EPICHead(bert.config.hidden_size, bert.config.vocab_size, special_tokens(tokenizer))
    )
    rows = position_rows(bert) or 0
    query, document = (
        min(read_length(folder.path / RANKER, ranker, name, default, "tokens") + AROUND, rows)
        for name, default in LENGTHS.items()
    )
    own = network.state_dict()
    found = {own_name(name, NAMES): torch.from_numpy(values) for name, values in weights.items()}
    for name, values in own.items():
        if "pooler" in name:  # which EPIC does not read
            found[name] = torch.zeros_like(values)
        elif name not in found or found[name].shape != values.shape:
            shape = tuple(found[name].shape) if name in found else "missing"
            raise ModelFolderError(
                f"{str(folder.path / WEIGHTS)!r}: {name!r} is {shape}, where {CONFIG} asks for "
                f"{tuple(values.shape)}; they must belong to one {base}"
            )
    network.load_state_dict({name: found[name] for name in own})
    return Checkpoint(
        "epic",
        EPICSettings(query, document, bert.config.vocab_size, field=""),
        tokenizer=tokenizer,
        training={"imported": folder.name},
        network=plain_config(bert),
        weights=take_weights(network),
    )
