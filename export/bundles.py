"""Export checkpoints as a bundle of rankers."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.corpus.building.default_pipelines import standard_pipelines
from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.faults import first_line, one_line
from ranklet.corpus.index import warn_if_none_retrieves
from ranklet.corpus.indexing.analysed import WordAnalysis
from ranklet.corpus.languages.names import LEMMA
from ranklet.corpus.progress import progress
from ranklet.export.errors import ExportError
from ranklet.export.exporter import exporter
from ranklet.export.jobs import ExportJob
from ranklet.export.options import ExportOptions
from ranklet.export.vocabulary.cutting import lightened
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import TOKENIZER
from ranklet.runtime.bundles.manifest import Manifest, RankerEntry, check_name
from ranklet.runtime.errors import BundleError, ModelFolderError
from ranklet.runtime.extras import hinted
from ranklet.runtime.kinds import KINDS
from ranklet.runtime.options import allowed_values, check_one_of, check_type
from ranklet.runtime.storage.address import writable
from ranklet.runtime.text.analysis import ENGLISH
from ranklet.training.checkpoint import Checkpoint, check_finite

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EXPORTING = "exporting and verifying rankers"  # a step of a progress bar

_log = logging.getLogger(__name__)


@hinted(lambda: "export")
def export_bundle(
    checkpoints: Mapping[str, Checkpoint],
    target: str | Path,
    options: ExportOptions | None = None,
    *,
    overwrite: bool = False,
) -> Bundle:
    """Write a bundle of rankers, without a collection.

    Args:
        checkpoints: the checkpoints by the rankers' names in the bundle.
        target: a folder, or a path that ends in .zip.
        options: how neural rankers are exported; None for the defaults.
        overwrite: whether an existing bundle is replaced.

    Returns:
        The bundle, which is open. It includes the proofs of all variants, see `read_reports`.

    Raises:
        ExportError: the target exists, there is no checkpoint, no variant of a checkpoint is
            within its tolerance, a name is not allowed, a checkpoint is damaged, or the
            checkpoints' word pieces differ.
    """
    writable(target)
    if not checkpoints:
        raise ExportError("there is no checkpoint to export; give at least one")
    check_type("checkpoints", checkpoints, Mapping)
    check_names(checkpoints)
    options = options or ExportOptions()
    check_type("options", options, ExportOptions)
    for name, checkpoint in checkpoints.items():
        check_type(f"checkpoints[{name!r}]", checkpoint, Checkpoint)
        check_finite(checkpoint.weights, f"the checkpoint of {name!r}")
    checkpoints = _with_own_tokenizers(_with_settings(checkpoints, options))
    tokenizer, words = _one_tokenizer(checkpoints), _one_analysis(checkpoints)
    with BundleWriter(target, overwrite=overwrite) as writer:
        rankers: dict[str, RankerEntry] = {
            name: _exported(checkpoint, name, writer, options)
            for name, checkpoint in progress(checkpoints.items(), EXPORTING, len(checkpoints))
        }
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
                provenance={
                    "checkpoints": {name: dict(each.training) for name, each in checkpoints.items()}
                },
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


def _exported(
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
            return exporter(checkpoint.kind).export(lightened(job))
    except BundleError as error:  # the graph was good for no other text than the traced one
        if not imported:
            raise
        raise ModelFolderError(
            f"{name!r} cannot be exported: its graph does not run ({first_line(error)})"
        ) from error


def _with_settings(
    checkpoints: Mapping[str, Checkpoint], options: ExportOptions
) -> dict[str, Checkpoint]:
    """Change the settings that the options name, of the rankers whose kind has them.

    Kinds may have different values of one setting. A ranker whose kind lacks the value keeps its
    own, and a warning says so, unless every ranker lacks it.

    Raises:
        ExportError: no ranker has such a setting.
        InputError: no ranker allows the value.
    """
    changed, used, kept = {}, set[str](), list[tuple[str, str]]()
    allowed: dict[str, dict[str, None]] = {key: {} for key in options.settings}
    for name, checkpoint in checkpoints.items():
        names, choices = exporter(checkpoint.kind).settings, allowed_values(checkpoint.settings)
        own = {key: value for key, value in options.settings.items() if key in names}
        for key, value in list(own.items()):
            allowed[key] |= dict.fromkeys(choices.get(key, ()))
            if choices.get(key) and value not in choices[key]:
                kept.append((name, key))
                del own[key]
        changed[name] = replace(checkpoint, settings=replace(checkpoint.settings, **own))
        used |= own.keys()
    for name, key in kept:
        if key not in used:
            check_one_of(key, options.settings[key], tuple(allowed[key]))
        _log.warning(
            "%s keeps %s=%s, because its kind does not have %s",
            name, key, getattr(changed[name].settings, key), options.settings[key],
        )  # fmt: skip
    if unused := [key for key in options.settings if key not in used]:
        raise ExportError(
            f"no checkpoint has the setting {unused[0]!r}, or it cannot be changed by an export; "
            f"the kinds are {', '.join(each.kind for each in checkpoints.values())}"
        )
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
    """Return how all checkpoints read words, or as English lemmas if none reads any.

    Raises:
        ExportError: they read words in different ways.
    """
    found: WordAnalysis = {"languages": ENGLISH, "normaliser": LEMMA}
    first = ""
    for name, each in checkpoints.items():
        if each.words is None:
            continue
        own: WordAnalysis = {
            "languages": each.languages or ENGLISH,
            "normaliser": each.normaliser or LEMMA,
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
