"""Read the tokenizer of a model's folder as transformers and sentence-transformers do."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ranklet.corpus.faults import one_line
from ranklet.runtime.errors import InputError, ModelFolderError
from ranklet.training.imported.encoder import chosen, quiet
from ranklet.training.imported.folder import check_content, read_json

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
# Files that a tokenizer can be made of where there is no tokenizer.json.
SOURCES = (
    "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "spm.model",
    "tokenizer.model",
)  # fmt: skip
# Settings of a Transformer module, in its folder; old versions had a file name per architecture.
SETTINGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
ARGUMENTS = ("processor_kwargs", "tokenizer_args")  # of the tokenizer; newer and older name
NO_LIMIT = 1_000_000  # a tokenizer without a limit has this number or a larger one
LONGEST = 512  # tokens, if nothing limits them


class ModelTokenizer(NamedTuple):
    """A model's tokenizer, and what its folder says about long texts."""

    tokenizer: "Tokenizer"
    limit: int | None  # tokens of a text, special tokens counted; None if nothing limits them
    fixed: bool  # whether sentence-transformers sets the limit, whatever the network's positions
    inputs: tuple[str, ...]  # what it returns, such as token_type_ids

    def longest_text(self, network: "torch.nn.Module") -> int:
        """Return how many tokens a network reads of a text, special tokens counted.

        Positions in a table limit the text. Other networks can read more than they were trained
        on, and sentence-transformers lets them if its settings say so.
        """
        rows = position_rows(network)
        trained = getattr(network.config, "max_position_embeddings", None)
        limits = [self.limit, rows]
        if isinstance(trained, int) and trained > 0 and (rows or not self.fixed):
            limits.append(trained)
        return min((limit for limit in limits if limit), default=LONGEST)


def transformer_settings(folder: Path) -> Mapping[str, Any]:
    """Return what sentence-transformers says of a Transformer module; empty for a plain model.

    Raises:
        ModelFolderError: its tokenizer is called with arguments of its own.
    """
    path = next((folder / name for name in SETTINGS if (folder / name).is_file()), None)
    settings: Mapping[str, Any] = read_json(path) if path else {}
    calls = settings.get("processing_kwargs") or {}
    if own := {key: calls[key] for key in ("common", "text") if calls.get(key)}:
        raise ModelFolderError(
            f"{str(path)!r} calls its tokenizer with arguments of its own (processing_kwargs "
            f"{own!r:.80}), which is not supported"
        )
    return settings


def text_limits(settings: Mapping[str, Any]) -> tuple[int, int]:
    """Return the tokens of a query and of a document that a Transformer module reads; 0 for all."""
    return settings.get("query_length") or 0, settings.get("document_length") or 0


def model_tokenizer(folder: Path) -> ModelTokenizer:
    """Read the tokenizer of a network's folder: WordPiece, SentencePiece or byte-level BPE.

    transformers changes what is in tokenizer.json by tokenizer_config.json, and makes a new
    tokenizer of its vocabulary for many architectures. So the tokenizer is what transformers makes.

    Raises:
        ModelFolderError: there is none, it has no fast version, or it cuts texts at their begin.
    """
    from transformers import AutoTokenizer

    names = [name for name in (TOKENIZER, *SOURCES) if (folder / name).is_file()]
    if not names:
        raise ModelFolderError(
            f"{str(folder)!r} has no tokenizer; save the model's tokenizer there"
        )
    for name in names:
        check_content(folder / name)
    settings = transformer_settings(folder)
    arguments = chosen(settings, ARGUMENTS)
    longest = settings.get("max_seq_length")
    if longest is not None:
        arguments = {"model_max_length": longest, **arguments}
    forced = {"local_files_only": True, "trust_remote_code": False}
    try:
        with one_line(f"the tokenizer of {str(folder)!r} cannot be loaded"), quiet():
            whole: Any = AutoTokenizer.from_pretrained(str(folder), **{**arguments, **forced})
    except ModelFolderError:
        if TOKENIZER in names:
            plain_tokenizer(folder)  # a damaged file has a message of its own
        raise
    if not whole.is_fast:
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
    if settings.get("do_lower_case"):
        _lower_case(tokenizer)
    limit = int(whole.model_max_length) if 0 < whole.model_max_length < NO_LIMIT else None
    fixed = "model_max_length" in arguments and limit is not None
    return ModelTokenizer(tokenizer, limit, fixed, tuple(whole.model_input_names))


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


def _lower_case(tokenizer: "Tokenizer") -> None:
    from tokenizers import normalizers

    own = [tokenizer.normalizer] if tokenizer.normalizer else []
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])


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
