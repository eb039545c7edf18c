"""Export checkpoints as a bundle of rankers."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.corpus.building.default_pipelines import standard_pipelines
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.faults import first_line, one_line
from ranklet.corpus.index import warn_if_none_retrieves
from ranklet.corpus.indexing.analysed import WordAnalysis
from ranklet.corpus.progress import progress
from ranklet.export.errors import ExportError
from ranklet.export.exporter import exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.options import ExportOptions
from ranklet.export.vocabulary.cutting import lighten
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import TOKENIZER, BundleFiles
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry, check_name
from ranklet.runtime.ground.errors import BundleError, ModelFolderError
from ranklet.runtime.ground.extras import hint_packages
from ranklet.runtime.ground.options import check_one_of, check_type, list_allowed
from ranklet.runtime.kinds import KINDS, ranker_module
from ranklet.runtime.storage.address import writable
from ranklet.runtime.text.names import ENGLISH, STEM
from ranklet.training.checkpoint import Checkpoint, check_finite

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EXPORTING = "exporting and verifying rankers"  # a step of a progress bar

_log = logging.getLogger(__name__)


@hint_packages(lambda: "export")
def export_bundle(
    checkpoints: Mapping[str, Checkpoint | Path],
    target: str | Path,
    options: ExportOptions | None = None,
    *,
    overwrite: bool = False,
) -> Bundle:
    """Write a bundle of rankers, without a collection.

    Args:
        checkpoints: the checkpoints by the rankers' names in the bundle, or paths of bundles that
            have one ranker each, which was exported before.
        target: a folder, or a path that ends in .zip.
        options: how neural rankers are exported; None for the defaults.
        overwrite: whether an existing bundle is replaced.

    Returns:
        The bundle, which is open. It includes the proofs of all variants, see `read_reports`.

    Raises:
        BuildError: the target exists.
        ExportError: there is no checkpoint, no variant of a checkpoint is within its tolerance, a
            name is not allowed, a checkpoint is damaged, or the checkpoints' word pieces differ.
    """
    writable(target)
    if not checkpoints:
        raise ExportError("there is no checkpoint to export; give at least one")
    check_type("checkpoints", checkpoints, Mapping)
    check_names(checkpoints)
    options = options or ExportOptions()
    check_type("options", options, ExportOptions)
    given: dict[str, Checkpoint] = {}
    for name, each in checkpoints.items():
        if not isinstance(each, Path):
            check_type(f"checkpoints[{name!r}]", each, Checkpoint)
            for part in filter(None, (each, each.queries)):
                check_finite(part.weights, f"the checkpoint of {name!r}")
            given[name] = each
    given = _with_own_tokenizers(_with_settings(given, options))
    tokenizer, words = _one_tokenizer(given), _one_analysis(given)
    with BundleWriter(target, overwrite=overwrite) as writer:
        rankers, trainings = dict[str, RankerEntry](), dict[str, Any]()
        for name, each in progress(checkpoints.items(), EXPORTING, len(checkpoints)):
            if isinstance(each, Path):
                rankers[name], trainings[name] = _copy_ranker(each, name, writer)
            else:
                rankers[name] = _export_ranker(given[name], name, writer, options)
                trainings[name] = dict(given[name].training)
        if tokenizer is not None:
            writer.data(TOKENIZER, tokenizer.to_str().encode())
        pipelines, default = standard_pipelines(rankers)
        warn_if_none_retrieves(rankers)
        path = writer.finish(
            Manifest(
                rankers=rankers,
                pipelines=pipelines,
                default_pipeline=default,
                **words,
                provenance={"checkpoints": trainings},
            )
        )
    return Bundle(path.absolute())


def check_names(names: Iterable[str]) -> None:
    """Raise ExportError unless rankers may have these names."""
    for name in names:
        try:
            check_name(name)
        except BundleError as error:
            raise ExportError(f"{error}; name it: NAME=CHECKPOINT") from error


def _copy_ranker(path: Path, name: str, writer: BundleWriter) -> tuple[RankerEntry, Any]:
    """Copy the only ranker of a bundle under another name; return its entry and its training."""
    bundle = BundleFiles(path)
    ((own, entry),) = bundle.manifest.rankers.items()
    for file in bundle.manifest.files:
        if file.startswith(f"rankers/{own}/"):
            writer.data(f"rankers/{name}/{file.removeprefix(f'rankers/{own}/')}", bundle.file(file))
    return entry, bundle.manifest.provenance["checkpoints"][own]


def _export_ranker(
    checkpoint: Checkpoint, name: str, writer: BundleWriter, options: ExportOptions
) -> RankerEntry:
    """Write a ranker's files; see `Exporter`. Errors of libraries about a network become one line.

    Raises:
        ModelFolderError: an imported network cannot be traced, or its graph does not run.
    """
    imported = "imported" in checkpoint.training
    try:
        with one_line(f"{name!r} cannot be exported") if imported else nullcontext():
            job = ExportJob(checkpoint, name, writer, options)
            return exporter(checkpoint.kind).export(lighten(job))
    except BundleError as error:  # the graph was good for no other text than the traced one
        if not imported:
            raise
        raise ModelFolderError(
            f"{name!r} cannot be exported: its graph does not run ({first_line(error)})"
        ) from error


def _with_settings(
    checkpoints: Mapping[str, Checkpoint], options: ExportOptions
) -> dict[str, Checkpoint]:
    """Change the settings that the options name, of the rankers whose kind has them."""
    own = own_settings({name: each.kind for name, each in checkpoints.items()}, options.settings)
    return {
        name: replace(each, settings=replace(each.settings, **own[name]))
        for name, each in checkpoints.items()
    }


def own_settings(
    kinds: Mapping[str, str], settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return which of the settings that an export changes each ranker has, by the rankers' names.

    Kinds may have different values of one setting. A ranker whose kind lacks the value keeps its
    own, and a warning says so, unless every ranker lacks it.

    Args:
        kinds: the rankers' kinds by name.
        settings: the settings to change.

    Raises:
        ExportError: no ranker has such a setting.
        InputError: no ranker allows the value.
    """
    changed: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for key, value in settings.items():
        able = [name for name, kind in kinds.items() if key in exporter(kind).settings]
        if not able:
            raise ExportError(
                f"no checkpoint has the setting {key!r}, or it cannot be changed by an export; "
                f"the kinds are {', '.join(kinds.values())}"
            )
        allowed = {
            name: list_allowed(ranker_module(kinds[name]).SETTINGS()).get(key, ()) for name in able
        }
        refusing = [name for name in able if allowed[name] and value not in allowed[name]]
        if len(refusing) == len(able):
            every = dict.fromkeys(each for own in allowed.values() for each in own)
            check_one_of(key, value, tuple(every))
        for name in able:
            if name in refusing:
                _log.warning(
                    "%s keeps its own %s, because its kind does not have %s", name, key, value
                )
            else:
                changed[name][key] = value
    return changed


def _with_own_tokenizers(checkpoints: Mapping[str, Checkpoint]) -> dict[str, Checkpoint]:
    """Let rankers of some kinds keep a tokenizer that differs from the bundle's.

    The bundle's word pieces are those of a ranker that needs them, or else of the first that could
    read texts instead.
    """
    pieces = [each for each in checkpoints.values() if each.settings.field == "wordpieces"]
    first = sorted(pieces, key=lambda each: KINDS[each.kind].own_tokenizer)[:1]
    shared = {each.tokenizer.to_str() for each in first if each.tokenizer is not None}
    return {
        name: replace(each, settings=replace(each.settings, field=""))
        if KINDS[each.kind].own_tokenizer
        and each.tokenizer is not None
        and each.tokenizer.to_str() not in shared
        else each
        for name, each in checkpoints.items()
    }


def _one_tokenizer(checkpoints: Mapping[str, Checkpoint]) -> "Tokenizer | None":
    tokenizers = {
        each.tokenizer.to_str(): each.tokenizer
        for each in checkpoints.values()
        if each.tokenizer is not None and each.settings.field == "wordpieces"
    }
    if len(tokenizers) > 1:
        raise ExportError(
            "the checkpoints have different tokenizers, but a bundle has only one; train them with "
            "the same --tokenizer"
        )
    return next(iter(tokenizers.values()), None)


def _one_analysis(checkpoints: Mapping[str, Checkpoint]) -> WordAnalysis:
    """Return how all checkpoints read words, or as English stems if none reads any.

    Raises:
        ExportError: they read words in different ways.
    """
    found: WordAnalysis = {"languages": ENGLISH, "normaliser": STEM}
    first = ""
    for name, each in checkpoints.items():
        if each.words is None:
            continue
        own: WordAnalysis = {
            "languages": each.languages or ENGLISH,
            "normaliser": each.normaliser or STEM,
        }
        if first and own != found:
            raise ExportError(
                f"{first} was trained on words of {_in_words(found)}, and {name} on those of "
                f"{_in_words(own)}, but a bundle reads words in one way; train them with the same "
                "--language and --normaliser"
            )
        first, found = first or name, own
    return found


def _in_words(words: WordAnalysis) -> str:
    return f"{', '.join(words['languages'])} by {words['normaliser']}"
