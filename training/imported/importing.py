"""Recognise what a model's folder contains, and import it as a checkpoint."""

import json
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ranklet.corpus.faults import one_line
from ranklet.corpus.progress import IMPORTING, import_slowly
from ranklet.runtime.ground.errors import InputError, ModelFolderError, RankletError
from ranklet.runtime.kinds import KINDS
from ranklet.training.checkpoint import RANKLET, Checkpoint, read_checkpoint
from ranklet.training.imported.encoder import check_known, check_not_generative, check_numbers
from ranklet.training.imported.folder import (
    CONFIG,
    MODULES,
    ModelFolder,
    check_class,
    check_files,
    read_json,
)
from ranklet.training.imported.forms import Form, Match
from ranklet.training.imported.tokenizer import check_tokenizer

ROUTES = "router_config.json"  # the modules of a router


@cache
def forms() -> dict[str, Form]:
    """Return what can be imported, by name."""
    return {form.name: form for kind in KINDS for form in list_forms(kind)}


def list_forms(kind: str) -> tuple[Form, ...]:
    """Return the forms of models that are imported as a kind; see `Form`."""
    if not KINDS[kind].imported:
        return ()
    own: tuple[Form, ...] = import_module(f"ranklet.training.rankers.{kind}.forms").FORMS
    return own


def find_form(checkpoint: Checkpoint) -> Form:
    """Return what an imported checkpoint was, by its kind and its settings."""
    has = vars(checkpoint.settings).items()
    return [form for form in list_forms(checkpoint.kind) if form.settings.items() <= has][-1]


def recognise(folder: ModelFolder, name: str | None = None) -> Form:
    """Return what a folder contains.

    Args:
        folder: the model's folder.
        name: the name of the form, if the folder's files do not say it; None recognises it.

    Raises:
        ModelFolderError: it is no model that ranks texts, or may be one of several.
        InputError: there is no form of this name.
    """
    if name is not None:
        if name not in forms():
            raise InputError(f"--as {name!r} is unknown; allowed are {', '.join(forms())}")
        return forms()[name]
    with one_line(f"what {str(folder.path)!r} contains cannot be recognised"):
        return _recognised(folder)


def _recognised(folder: ModelFolder) -> Form:
    matches = {name: form.recognises(folder) for name, form in forms().items()}
    best = max(matches.values())
    if best < Match.SURE and not folder.modules:
        check_not_generative(folder.path, folder.config)
        if "model_type" not in folder.config:
            whole = folder.path.resolve().parent
            part = (whole / MODULES).is_file()
            raise ModelFolderError(
                f"{str(folder.path)!r} is {'a part of a model' if part else 'no model'}, because "
                f"its {CONFIG} has no model_type; give "
                f"{repr(str(whole)) if part else 'the folder of a model'}"
            )
    fitting = [forms()[name] for name, match in matches.items() if match == best][::-1]
    if len(fitting) > 1:
        raise ModelFolderError(
            f"{str(folder.path)!r} is a {folder.type or folder.architecture}, which may be a "
            f"{', a '.join(form.about for form in fitting)}, or a language model that ranks "
            "nothing before it is trained; with `ranklet export` say "
            f"{' or '.join(f'--as {form.name}' for form in fitting)}"
            f"{''.join(f', or {form.hint}' for form in fitting if form.hint)}"
        )
    return fitting[0]


def check_folder(path: Path, by_library: bool = True) -> None:
    """Check all that can be wrong with a folder without reading its network.

    Args:
        path: the folder.
        by_library: whether sentence-transformers reads it.

    Raises:
        ModelFolderError: a file is damaged, unsafe or missing, or the model needs code of its own.
    """
    check_files(path)
    if not by_library:
        return
    check_tokenizer(path)
    for place in (*path.rglob(CONFIG), *path.rglob(ROUTES)):
        check_known(place.parent, config := read_json(place))
        types = config.get("types")
        for each in types.values() if isinstance(types, dict) else ():
            check_class(each, place.parent)


def is_checkpoint(path: str | Path) -> bool:
    """Return whether ranklet has written a folder; other folders are models of other libraries."""
    return (Path(path) / RANKLET).is_file()


def find_needed_extra(paths: Iterable[str | Path]) -> str:
    """Return the extra that exports checkpoints and models; "" if they need none.

    They are recognised by their small files, so that no package is needed for it.
    """
    return "export" if any(_is_network(Path(path)) for path in paths) else ""


def _is_network(path: Path) -> bool:
    """Return whether a checkpoint or a model has a network; True if it cannot be read."""
    try:
        if is_checkpoint(path):
            kind = json.loads((path / RANKLET).read_text("utf-8"))["kind"]
            return not KINDS[kind].lexical
        return recognise(ModelFolder(path)).network
    except (RankletError, OSError, ValueError, KeyError, TypeError):
        return True


def list_choices(path: str | Path, kind: str | None = None) -> tuple[str, ...]:
    """Return the names of what can be chosen of a model; of a checkpoint nothing.

    See `read_model`.
    """
    return () if is_checkpoint(path) else recognise(ModelFolder(path), kind).choices


class Choices(TypedDict, total=False):
    """What can be chosen of a model of another library.

    Attributes:
        dimension: keep only the first numbers of a dense vector.
        label: the label of a cross-encoder that means relevant, if it has several.
        marking: the exact matches that a cross-encoder was trained to see marked, if any.
        query_prompt: the text before every query of a dense encoder; None for the folder's.
        document_prompt: the text before every document of one; None for the folder's.
    """

    dimension: int | None
    label: str | None
    marking: str | None
    query_prompt: str | None
    document_prompt: str | None


def read_model(
    path: str | Path, *, kind: str | None = None, **choices: Unpack[Choices]
) -> Checkpoint:
    """Return a checkpoint that ranklet has trained, or a model of another library.

    Args:
        path: the folder.
        kind: what the folder contains, a name of `forms`, if its files do not say so; None
            recognises it.
        choices: see `Choices`.

    Raises:
        ModelFolderError: the folder of another library cannot be used.
        InputError: a checkpoint of ranklet cannot be read, or the model does not have what is
            chosen.
    """
    options: dict[str, Any] = {name: value for name, value in choices.items() if value is not None}
    if is_checkpoint(path):
        if options or kind is not None:
            flags = ", ".join(f"--{name.replace('_', '-')}" for name in Choices.__annotations__)
            raise InputError(f"{flags} and --as are for models of other libraries only")
        return read_checkpoint(path)
    folder = ModelFolder(path)
    form = recognise(folder, kind)
    check_folder(folder.path, form.compared)  # before PyTorch is imported, which takes seconds
    for name in options:
        if name not in form.choices:
            raise InputError(f"{folder.name} is a {form.about}, which has no {name} to choose")
    if form.network:
        import_slowly("torch", IMPORTING)
    importing = form.importer()
    with one_line(f"{str(folder.path)!r} cannot be loaded"):
        checkpoint: Checkpoint = importing.import_model(folder, **options)
    for part in filter(None, (checkpoint, checkpoint.queries)):
        check_numbers(folder.path, {**part.weights, **part.arrays})
    return checkpoint
