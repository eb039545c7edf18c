"""The models of a build: read and exported, unless an earlier build has exported the same."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ranklet.corpus.progress import IMPORTING, expect, progress
from ranklet.export.bundles import EXPORTING, export_bundle, own_settings
from ranklet.export.options import ExportOptions
from ranklet.export.proof.variants import plan
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.bundles.manifest import MANIFEST
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.kinds import KINDS
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.importing import is_checkpoint, list_choices, read_model, recognise
from ranklet.workflows import kept
from ranklet.workflows.imported import COMPARING, COMPARING_SECONDS, ranker_name, with_probes

READING = "reading models"  # a step of a bar

_log = logging.getLogger(__name__)


class Model(NamedTuple):
    """A model of a build.

    Attributes:
        folder: where it is.
        choices: what is chosen of it; see `read_model`.
        options: how it is exported.
        key: names its export among those that are kept; "" if none is.
        ready: the model, or its export by an earlier build.
    """

    folder: str | Path
    choices: Mapping[str, Any]
    options: ExportOptions
    key: str
    ready: Checkpoint | Path


def read_models(
    folders: Sequence[str | Path],
    options: ExportOptions,
    *,
    keep: bool = True,
    taken: Mapping[str, str] | None = None,
    **choices: str | None,
) -> dict[str, Model]:
    """Return models by the names of their folders; see `ranklet.workflows.build.build`.

    Args:
        folders: the folders of models, or of bundles that `ranklet export` has made of one each.
        options: how the models are exported.
        keep: whether exports of earlier builds are used; not those of ranklet's own checkpoints.
        taken: the kinds of other rankers by name.
        choices: what is chosen of the models that have such a choice.

    Raises:
        InputError: a folder cannot be used, two have one name, no model has labels, or options are
            for a model that is exported already.
    """
    given = {name: value for name, value in choices.items() if value is not None}
    exported = {folder: open_exported(Path(folder)) for folder in folders if is_bundle(folder)}
    others = [folder for folder in folders if folder not in exported]
    able = {folder: list_choices(folder) for folder in others} if given else {}
    for name in given:
        if not any(name in each for each in able.values()):
            raise InputError(
                "no model has labels; leave --label out, or give a cross-encoder"
                if name == "label"
                else f"no model has prompts; leave --{name.replace('_', '-')} out"
            )
    named: dict[str, str | Path] = {}
    for folder in folders:
        name = exported[folder][0] if folder in exported else ranker_name(folder)
        if name in named or name in (taken or {}):
            raise InputError(f"two rankers would be named {name!r}; rename the folder of one")
        named[name] = folder
    trained = {name: _load_own(folder) for name, folder in named.items() if is_checkpoint(folder)}
    kinds = {
        name: trained[name].kind
        if name in trained
        else exported[folder][1]
        if folder in exported
        else recognise(ModelFolder(folder)).kind
        for name, folder in named.items()
    }
    settings = own_settings({**(taken or {}), **kinds}, options.settings)
    models: dict[str, Model] = {}
    for name, folder in progress(named.items(), READING, len(named)):
        own = {key: value for key, value in given.items() if key in able.get(folder, ())}
        how = replace(options, settings=settings[name])
        if folder in exported:
            if how != ExportOptions() or not keep:
                raise InputError(
                    f"{str(folder)!r} is exported already, so its files are taken as they are; "
                    "leave the options of exports and vocabularies out, or give the model itself"
                )
            models[name] = Model(folder, own, how, "", Path(folder))
            continue
        if name in trained:
            models[name] = Model(folder, own, how, "", trained[name])
            continue
        key = kept.key_of(Path(folder), own, how) if keep else ""
        ready = kept.find(key) if key else None
        if ready is not None:
            _log.info("%s was exported and verified by an earlier build (%s)", name, ready)
        model = ready or _own_tokens(read_model(folder, **own))  # type: ignore[arg-type]
        models[name] = Model(folder, own, how, key, model)
    return models


def is_bundle(folder: str | Path) -> bool:
    """Return whether a folder is a bundle and no model."""
    return (Path(folder) / MANIFEST).is_file()


def open_exported(path: Path) -> tuple[str, str]:
    """Return the name and the kind of the only ranker of a bundle without texts.

    Raises:
        InputError: it has texts, or other rankers.
    """
    manifest = BundleFiles(path).manifest
    if manifest.documents or len(manifest.rankers) != 1:
        raise InputError(
            f"{str(path)!r} is a bundle of {len(manifest.rankers)} rankers and "
            f"{manifest.documents:,} texts; give the folder of a model, or a bundle that "
            "`ranklet export` has made of one model"
        )
    ((name, entry),) = manifest.rankers.items()
    return name, entry.kind


def export_models(models: Mapping[str, Model], scratch: Path) -> dict[str, Checkpoint | Path]:
    """Return models as `export_bundle` takes them, exported if the export can be kept.

    Args:
        models: the models by name.
        scratch: a folder for exports.

    Raises:
        ModelFolderError: a model's output differs from its library's.
        ExportError: no variant of a model is within its tolerance.
    """
    made: dict[str, Checkpoint | Path] = {}
    for name, model in models.items():
        if model.key and isinstance(model.ready, Checkpoint):
            proven = with_probes({name: model.ready}, {name: model.folder})
            path = scratch / f"{name}.zip"
            export_bundle(proven, path, model.options)
            kept.keep(model.key, path)
            made[name] = path
        else:
            made[name] = model.ready
    for label, _ in steps(1, ()):
        expect(label, 0.0)
    return made


def steps(models: int, variants: Sequence[str]) -> list[tuple[str, float]]:
    """Return the steps of reading and exporting models with their seconds, for a progress bar."""
    each = [(READING, 1.0), (COMPARING, COMPARING_SECONDS), *plan(variants), (EXPORTING, 1.0)]
    return [(IMPORTING, 5.0)] * (models > 0) + each * models


def _load_own(folder: str | Path) -> Checkpoint:
    """Return a checkpoint of ranklet for any collection.

    Raises:
        InputError: it cannot be read, or is for the collection that it was trained on.
    """
    model = read_model(folder)
    if KINDS[model.kind].needs_collection:
        raise InputError(
            f"{str(folder)!r} is a {model.kind}, which is trained for one collection; export "
            "it with `ranklet export` and add texts with `ranklet index`"
        )
    return _own_tokens(model)


def _own_tokens(model: Checkpoint) -> Checkpoint:
    """Let a ranker split texts by its own tokenizer, if its kind can."""
    if not KINDS[model.kind].own_tokenizer:
        return model
    return replace(model, settings=replace(model.settings, field=""))
