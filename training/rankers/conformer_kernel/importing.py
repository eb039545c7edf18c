"""Import the weights of a Conformer-Kernel that its authors' code has saved.

The folder has config.json, the arguments of their training as an object; the model_state_dict as
model.safetensors; and vocab.txt, the words of the fastText model in its order, one per line.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.runtime.rankers.conformer_kernel.network import FIRST
from ranklet.runtime.rankers.conformer_kernel.settings import FRAME, ConformerKernelSettings
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.authors import own_name, read_length
from ranklet.training.imported.folder import CONFIG, WEIGHTS, ModelFolder, read_arrays
from ranklet.training.learning.weights import take_weights
from ranklet.training.rankers.conformer_kernel.network import ConformerKernel
from ranklet.training.rankers.conformer_kernel.sizes import Network

WORDS = "vocab.txt"
SPECIAL = 3  # their first rows: unknown words, <S> and </S>
# Arguments of the authors' training that weights do not tell, and their defaults.
LENGTHS = {"max_terms_query": 20, "rbf_kernel_pool_size": 300, "rbf_kernel_pool_stride": 100}
EMBEDDING, CONVOLUTION = "ndrm1.embed.weight", "ndrm1.contextualize.layers.0.conv_layer.weight"
LAYER = r"ndrm1\.contextualize\.layers\.(\d+)\."
# Their names of parts and ours.
NAMES = (
    (LAYER + "conv_layer", r"latent.encoder.blocks.\1.convolution"),
    (LAYER + "self_attn.in_proj_", r"latent.encoder.blocks.\1.attention.projections."),
    (LAYER + "self_attn.out_proj", r"latent.encoder.blocks.\1.attention.out"),
    (LAYER + "linear1", r"latent.encoder.blocks.\1.dense.0"),
    (LAYER + "linear2", r"latent.encoder.blocks.\1.dense.3"),
    (LAYER + "norm1", r"latent.encoder.blocks.\1.norms.0"),
    (LAYER + "norm2", r"latent.encoder.blocks.\1.norms.1"),
    (r"ndrm1\.embed\.", "latent.encoder.embedding."),
    (r"ndrm1\.fc_ctx\.", "latent.encoder.mix."),
    (r"ndrm1\.fc_qt\.", "latent.query."),
    (r"ndrm1\.rbf_kernel\.fc\.", "latent.dense."),
    (r"ndrm2\.norm_tf\.running_mean", "explicit.tf.mean"),
    (r"ndrm2\.norm_tf\.num_samples", "explicit.tf.seen"),
    (r"ndrm2\.norm_dlen\.running_mean", "explicit.length.mean"),
    (r"ndrm2\.norm_dlen\.num_samples", "explicit.length.seen"),
    (r"ndrm2\.fc_dlen\.0\.", "explicit."),
    (r"fc\.0\.", "norm."),
    (r"fc\.1\.", "both."),
)


def import_model(folder: ModelFolder) -> Checkpoint:
    """Return a Conformer-Kernel as a checkpoint, which reads the stems of a collection.

    The authors' words are stemmed by Krovetz's dictionary. Each stem has the embedding of the first
    of them that has it; see `term_rows`. IDF is of the collection that is indexed, and unknown
    words of a query have no latent score.

    Raises:
        ModelFolderError: the folder lacks a part, or its parts do not fit each other.
    """
    architecture = str(folder.config["model"])
    lengths = {
        name: read_length(folder.path / CONFIG, folder.config, name, default, "terms")
        for name, default in LENGTHS.items()
    }
    prefix = "" if architecture == "ndrm3" else f"{architecture}."
    weights = {prefix + name: each for name, each in read_arrays(folder.path).items()}
    words = _words(folder) if architecture != "ndrm2" else ()
    network = _sizes(folder, architecture, weights, len(words), lengths)
    model = ConformerKernel(network).eval()
    own = model.state_dict()
    found = {own_name(name, NAMES): values for name, values in weights.items()}
    if EMBEDDING in weights:
        found["latent.encoder.embedding.weight"] = _rows(weights[EMBEDDING])
    for name, values in own.items():
        if name not in found or found[name].size != values.numel():
            shape = found[name].shape if name in found else "missing"
            raise ModelFolderError(
                f"{str(folder.path / WEIGHTS)!r}: what becomes {name!r} is {shape}, where "
                f"{tuple(values.shape)} is needed; give the whole model_state_dict and its own "
                f"{CONFIG} and {WORDS}"
            )
    model.load_state_dict(
        {name: torch.from_numpy(found[name]).reshape(each.shape) for name, each in own.items()}
    )
    longest = weights.get("ndrm1.pos_encoder.pe", np.empty(4000)).shape[0]
    settings = ConformerKernelSettings(
        "lemmas", lengths["max_terms_query"], max(1, longest - FRAME), architecture=architecture
    )
    served: dict[str, Any] = dict(model.served())
    return Checkpoint(
        "conformer_kernel",
        replace(settings, **served),
        tokens=words,
        training={"imported": folder.name},
        network={"architectures": [type(model).__name__], **asdict(network)},
        weights=take_weights(model),
    )


def _sizes(
    folder: ModelFolder,
    architecture: str,
    weights: Mapping[str, NDArray[Any]],
    words: int,
    lengths: Mapping[str, int],
) -> Network:
    if architecture == "ndrm2":
        return Network(FIRST, architecture)
    if EMBEDDING not in weights or CONVOLUTION not in weights:
        raise ModelFolderError(
            f"{str(folder.path / WEIGHTS)!r} has no {EMBEDDING} or no convolution; supported is "
            f"the model_state_dict of an {architecture} with conformer"
        )
    rows, hidden = weights[EMBEDDING].shape
    if rows != words + SPECIAL:
        raise ModelFolderError(
            f"{str(folder.path / WORDS)!r} has {words:,} words, and the embeddings have "
            f"{rows - SPECIAL:,}; the two do not belong together"
        )
    _, inputs, width = weights[CONVOLUTION].shape
    blocks = {found[1] for name in weights if (found := re.match(LAYER, name))}
    return Network(
        FIRST + words, architecture, hidden, len(blocks), hidden // inputs,
        kernels=weights["ndrm1.rbf_kernel.fc.0.weight"].shape[1], width=width,
        groups=hidden // inputs, window=lengths["rbf_kernel_pool_size"],
        stride=lengths["rbf_kernel_pool_stride"],
    )  # fmt: skip


def _rows(embedding: NDArray[Any]) -> NDArray[Any]:
    """Return their rows in our order: padding, unknown words, words, <S> and </S>."""
    unknown, ends, words = embedding[:1], embedding[1:SPECIAL], embedding[SPECIAL:]
    return np.concatenate([unknown, unknown, words, ends])


def _words(folder: ModelFolder) -> tuple[str, ...]:
    path = folder.path / WORDS
    try:
        return tuple(path.read_text("utf-8").splitlines())
    except (OSError, ValueError) as error:
        raise ModelFolderError(
            f"{str(path)!r} cannot be read ({error}); write the words of the fastText model there, "
            "in its order, one per line"
        ) from None
