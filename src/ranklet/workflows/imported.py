"""What imported models need before they are exported: a name, and texts to be verified on."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

from ranklet.corpus.collections.probes import Probes, choose_all_lengths
from ranklet.corpus.progress import step
from ranklet.export.vocabulary.cutting import set_aside
from ranklet.runtime.bundles.manifest import check_name
from ranklet.runtime.ground.errors import BundleError
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import model_name
from ranklet.training.imported.importing import find_form, is_checkpoint
from ranklet.training.imported.original import TEXTS, compare, shortened

COMPARING = "comparing the model with its library"  # a step of a bar
COMPARING_SECONDS = 5.0
ORIGINAL = "original"  # key in a checkpoint's report: how it compares with its library

_log = logging.getLogger(__name__)


def with_probes(
    checkpoints: Mapping[str, Checkpoint],
    folders: Mapping[str, str | Path],
    probes: Probes | None = None,
) -> dict[str, Checkpoint]:
    """Return checkpoints with texts to verify them on, compared with their original libraries.

    Checkpoints that ranklet has trained keep their own probes.

    Args:
        checkpoints: the checkpoints by the rankers' names.
        folders: what the checkpoints were read from, by the same names.
        probes: texts, of which half of those to compare on are queries; None for ranklet's own.

    Raises:
        ModelFolderError: a model's output differs from its library's.
    """
    ready, probes = dict(checkpoints), probes or Probes.neutral()
    most = probes.completed()
    texts = [
        given[at]
        for given in (most.queries, most.documents)
        for at in choose_all_lengths(given, TEXTS // 2)
    ]
    for name, checkpoint in checkpoints.items():
        if is_checkpoint(folders[name]):
            continue
        training = checkpoint.training
        library = find_spec("sentence_transformers")  # static vectors are read without it
        if library is not None and find_form(checkpoint).compared:
            begins = [shortened(text, checkpoint.settings) for text in texts]
            with step(COMPARING, COMPARING_SECONDS):
                light = set_aside(checkpoint, (*texts, *begins))[0]
                result = str(compare(folders[name], light, texts))
            _log.info("%s: %s", name, result)
            training = {**training, ORIGINAL: result}
        ready[name] = replace(checkpoint, probes=checkpoint.probes or probes, training=training)
    return ready


def describe_model(checkpoint: Checkpoint) -> str:
    """Return what was recognised in a model's folder, in one line."""
    settings, training = asdict(checkpoint.settings), checkpoint.training
    form = find_form(checkpoint)
    parts = [form.about]
    if "pooling" in settings and form.network:
        parts.append(f"{settings['pooling']} pooling")
    if "label" in training:
        parts.append(f"{settings['head']} head, {training['activation']} of {training['label']!r}")
    if checkpoint.queries is not None:
        parts.append("a network of its own for queries")
    if "queries" in settings:
        parts.append(f"queries by {settings['queries']}")
    if "similarity" in settings:
        parts.append(str(settings["similarity"]))
    if terms := settings.get("max_document_terms"):
        parts += [settings["architecture"], f"{terms:,} terms"]
    else:
        parts.append(f"{settings.get('max_tokens') or settings['max_document_tokens']:,} tokens")
    if "dimension" in settings:
        parts.append(f"{settings['dimension']:,} dimensions")
    prompts = {role: settings.get(f"{role}_prompt") for role in ("query", "document")}
    parts += [f"{prompt!r} before every {role}" for role, prompt in prompts.items() if prompt]
    return ", ".join(parts)


def ranker_name(folder: str | Path) -> str:
    """Return the name of the ranker that a folder becomes.

    >>> ranker_name("models/all-MiniLM-L6-v2"), ranker_name("bge small (v1.5)")
    ('all-MiniLM-L6-v2', 'bge-small-v1-5')
    """
    name = model_name(folder)
    try:
        return check_name(name)
    except BundleError:
        words = "".join(char if char.isascii() and char.isalnum() else " " for char in name).split()
        return "-".join(words)[:64] or "model"
