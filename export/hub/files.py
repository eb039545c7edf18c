"""The small files of a model's folder: configs and tokenizer, copied or made."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ranklet.runtime.writing.strangers import matching
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import (
    CONFIG,
    MODULES,
    SENTENCE,
    WEIGHTS,
    ModelFolder,
    read_json,
)
from ranklet.training.imported.importing import ROUTES
from ranklet.training.imported.sentence_settings import Prompts, choose_prompts, prompt_names
from ranklet.training.imported.tokenizer import TOKENIZER, TOKENIZER_CONFIG

SPECIAL = "special_tokens_map.json"
CARD = "README.md"
# Everything else in a model's folder is weights, or an export of another library.
_SMALL = matching("*.json", "*.txt", "*.model", "*.jinja", "LICENSE*", "NOTICE*")
_INDEX = matching("*.index.json")  # of weights
_OTHERS = ("onnx", "openvino", ".git", ".cache")
# Tokens that a config of a tokenizer names, and their usual spellings.
_NAMES = {
    "unk_token": ("[UNK]", "<unk>"),
    "sep_token": ("[SEP]", "</s>"),
    "pad_token": ("[PAD]", "<pad>"),
    "cls_token": ("[CLS]", "<s>"),
    "mask_token": ("[MASK]", "<mask>"),
}
# Poolings, as the files of all versions of sentence-transformers name them.
_POOLINGS = {
    "mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens", "last": "lasttoken",
    "weighted_mean": "weightedmean_tokens", "mean_sqrt": "mean_sqrt_len_tokens",
}  # fmt: skip
THE_TOP = ""  # the place of a transformer
_OWN = "ranklet_"  # how our keys in config.json begin


def write_files(checkpoint: Checkpoint, original: Path | None, target: Path) -> str:
    """Write all but graphs and card into a folder; return the front matter of an original card.

    Configs and tokenizer lie at the top, where others look for them.

    Args:
        checkpoint: the model.
        original: the folder that it was read from; None if ranklet has trained it.
        target: the folder to write to.
    """
    front, places = "", transformer_places(original)
    if original is not None:
        for path in _small_files(original):
            copy = target / path.relative_to(original)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        for path in original.rglob(WEIGHTS):  # of modules that no graph has
            if path.parent != original and "model_type" not in _config(path.parent):
                shutil.copyfile(path, target / path.relative_to(original))
        model = ModelFolder(original)
        first = model.modules[0].folder if model.modules else original.resolve()
        if places == (THE_TOP,) and first != original.resolve():
            for path in _small_files(first):
                shutil.copyfile(path, target / path.name)
        _write_prompts(checkpoint, model, target)
        front = _front_matter(original / CARD)
    else:
        _write_modules(checkpoint, target)
    for part, place in zip((checkpoint, checkpoint.queries), places, strict=False):
        if part is None or not part.weights:
            continue
        if not (target / place / CONFIG).is_file():
            config = {k: v for k, v in part.network.items() if not k.startswith(_OWN)}
            _write(target / place / CONFIG, config)
        _write_tokenizer(part, target / place)
    return front


def transformer_places(folder: Path | None) -> tuple[str, ...]:
    """Return the folders of the transformers, of documents and of queries, below a model's folder.

    A router that comes first has one for each side; other models have one that lies at the top.
    """
    model = None if folder is None else ModelFolder(folder)
    if model is None or model.module_names[:1] != ["Router"]:
        return (THE_TOP,)
    place = model.modules[0].folder
    routes = read_json(place / ROUTES)["structure"]
    below = place.relative_to(model.path.resolve())
    sides = [routes.get(role) or next(iter(routes.values())) for role in ("document", "query")]
    return tuple(dict.fromkeys(f"{(below / modules[0]).as_posix()}/" for modules in sides))


def _config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    return read_json(path) if path.is_file() else {}


def _small_files(folder: Path) -> list[Path]:
    """Return the files to copy, none of which leads elsewhere, except into the hub's cache."""
    root = folder.resolve()
    roots = [root, *([root.parent.parent / "blobs"] if root.parent.name == "snapshots" else [])]
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and _SMALL(path.name)
        and not _INDEX(path.name)
        and not {*path.relative_to(folder).parts} & {*_OTHERS}
        and any(path.resolve().is_relative_to(each) for each in roots)
    ]


def _write_tokenizer(checkpoint: Checkpoint, target: Path) -> None:
    """Write the tokenizer as it is read, and what FastEmbed and transformers.js need beside it."""
    from tokenizers import Tokenizer

    tokenizer, settings = checkpoint.need_tokenizer(), checkpoint.settings
    path = target / TOKENIZER_CONFIG
    described = read_json(path) if path.is_file() else {}
    for key, value in described.items():
        if key in _NAMES and isinstance(value, dict):  # older versions describe the token
            described[key] = value.get("content")
    for key, names in _NAMES.items():
        known = [name for name in names if tokenizer.token_to_id(name) is not None]
        if known and not described.get(key):
            described[key] = known[0]
    described.setdefault("tokenizer_class", "PreTrainedTokenizerFast")
    written = Tokenizer.from_str(tokenizer.to_str())
    if (pad := described.get("pad_token")) and (number := written.token_to_id(pad)) is not None:
        written.enable_padding(pad_id=number, pad_token=pad)  # so that a batch is one array
    (target / TOKENIZER).write_text(written.to_str(), "utf-8")
    longest = getattr(settings, "max_tokens", 0) or settings.max_document_tokens
    described["model_max_length"] = longest
    _write(path, described)
    if not (target / SPECIAL).is_file():
        _write(target / SPECIAL, {key: described[key] for key in _NAMES if described.get(key)})


def _write_modules(checkpoint: Checkpoint, target: Path) -> None:
    """Write what sentence-transformers reads of an encoder that ranklet has trained."""
    from ranklet.training.imported.chain import MODULES as AFTER

    settings = checkpoint.settings
    if not hasattr(settings, "pooling"):  # it has not one vector per text
        return
    parts = [("Transformer", ""), ("Pooling", "1_Pooling")]
    modules = checkpoint.network.get(AFTER, ())
    for each in modules:
        name = each["type"].rsplit(".", 1)[-1]
        parts.append((name, f"{len(parts)}_{name}"))
    places = [target / place for _, place in parts[2:]]
    if settings.similarity == "cosine":
        parts.append(("Normalize", f"{len(parts)}_Normalize"))
    _write(
        target / MODULES,
        [
            {
                "idx": at,
                "name": str(at),
                "path": path,
                "type": f"sentence_transformers.models.{name}",
            }
            for at, (name, path) in enumerate(parts)
        ],
    )
    (target / "1_Pooling").mkdir()
    pooling = {f"pooling_mode_{_POOLINGS[settings.pooling]}": True}
    hidden = checkpoint.network["hidden_size"]
    _write(target / "1_Pooling" / CONFIG, {"word_embedding_dimension": hidden, **pooling})
    for each, place in zip(modules, places, strict=True):
        place.mkdir()
        _write(place / CONFIG, {key: value for key, value in each.items() if key != "type"})
    _write_modules_weights(checkpoint, places)
    prompts = {"query": settings.query_prompt, "document": settings.document_prompt}
    said = {"similarity_fn_name": settings.similarity, "truncate_dim": settings.dimension}
    _write(target / SENTENCE, {"prompts": prompts, **said})
    _write(target / "sentence_bert_config.json", {"max_seq_length": settings.max_document_tokens})


def _write_modules_weights(checkpoint: Checkpoint, places: Sequence[Path]) -> None:
    """Write the weights of the modules that no graph has into their folders."""
    from safetensors.numpy import save_file

    for at, place in enumerate(places):
        begin = f"after.{at}."
        own = {
            name.removeprefix(begin): values
            for name, values in checkpoint.weights.items()
            if name.startswith(begin)
        }
        if own:
            save_file(own, place / WEIGHTS)


def _write_prompts(checkpoint: Checkpoint, model: ModelFolder, target: Path) -> None:
    """Write the prompts that were chosen in place of the original's."""
    settings = checkpoint.settings
    if not hasattr(settings, "query_prompt"):
        return
    chosen = Prompts(settings.query_prompt, settings.document_prompt)
    if chosen != choose_prompts(model.prompts):
        named = dict(zip(prompt_names(model.prompts), chosen, strict=True))
        prompts = {**model.prompts, **named}
        _write(target / SENTENCE, {**model.sentence, "prompts": prompts})


def _front_matter(path: Path) -> str:
    """Return what stands between the lines of three hyphens at the top of a card."""
    if not path.is_file():
        return ""
    first, *rest = path.read_text("utf-8", "replace").split("\n---", 1)
    return first.removeprefix("---").strip() if rest and first.startswith("---") else ""


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")
