"""Read the tokenizer of a model's folder as transformers does."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.corpus.faults import one_line
from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.training.imported.encoder import quiet
from ranklet.training.imported.folder import ModelFolder, check_content

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
# Files that a tokenizer is made of.
SOURCES = (
    TOKENIZER, "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "spm.model",
    "tokenizer.model",
)  # fmt: skip


def check_tokenizer(folder: Path) -> None:
    """Raise ModelFolderError if nothing in a folder is a tokenizer; libraries may make one up."""
    if not any(path.name in SOURCES for path in folder.rglob("*")):
        first = ModelFolder(folder).module_names[:1]
        begins = f"begins with a {first[0]} and " if first else ""
        raise ModelFolderError(
            f"{str(folder)!r} {begins}has no tokenizer of transformers; save the model's there"
        )


def model_tokenizer(folder: Path) -> "Tokenizer":
    """Read the tokenizer of a network's folder: WordPiece, SentencePiece or byte-level BPE.

    transformers changes what is in tokenizer.json by tokenizer_config.json, and makes a new
    tokenizer of its vocabulary for many architectures. So the tokenizer is what transformers makes.

    Raises:
        ModelFolderError: see `own_tokenizer`.
    """
    from transformers import AutoTokenizer

    check_tokenizer(folder)
    with one_line(f"the tokenizer of {str(folder)!r} cannot be loaded"), quiet():
        whole: Any = AutoTokenizer.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        )
    return own_tokenizer(whole, folder)


def own_tokenizer(whole: Any, folder: Path) -> "Tokenizer":
    """Return the tokenizer in one of transformers, without its truncation and padding.

    Raises:
        ModelFolderError: it has no fast version, or it cuts texts at their begin.
    """
    if not getattr(whole, "is_fast", False):
        raise ModelFolderError(
            f"the tokenizer of {str(folder)!r} is a {type(whole).__name__}, which has no fast "
            f"version; only tokenizers that can be saved as {TOKENIZER} are supported"
        )
    if whole.truncation_side != "right":
        raise ModelFolderError(
            f"the tokenizer of {str(folder)!r} cuts long texts at their begin (truncation_side is "
            f"{whole.truncation_side!r}), which is not supported; set truncation_side to 'right' "
            f"in {TOKENIZER_CONFIG} if the ends of long texts may be cut instead"
        )
    tokenizer: Tokenizer = whole.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def plain_tokenizer(folder: Path) -> "Tokenizer":
    """Read the tokenizer.json of a folder as it is, which is how static embeddings use it.

    Raises:
        ModelFolderError: there is none, or it is damaged.
    """
    from ranklet.corpus.indexing.wordpieces import read_tokenizer

    if not (folder / TOKENIZER).is_file():
        raise ModelFolderError(
            f"{str(folder)!r} has no tokenizer; save the model's tokenizer there as {TOKENIZER}"
        )
    check_content(folder / TOKENIZER)
    try:
        with one_line(f"{str(folder / TOKENIZER)!r} cannot be read as a tokenizer"):
            return read_tokenizer(folder / TOKENIZER)
    except ModelFolderError:
        raise
    except InputError as error:
        raise ModelFolderError(str(error)) from None


def position_rows(network: "torch.nn.Module") -> int | None:
    """Return how many positions a network has vectors for; None if it has no such table.

    RoBERTa and its kin number positions from the padding token's id + 1, and BART from 2.
    """
    from torch.nn import Embedding

    for name, module in network.named_modules():
        table = name.rsplit(".", 1)[-1] in ("position_embeddings", "embed_positions", "wpe")
        if table and isinstance(module, Embedding):
            padding = -1 if module.padding_idx is None else module.padding_idx
            begin = max(padding + 1, int(getattr(module, "offset", 0)))
            return module.num_embeddings - begin
    return None
