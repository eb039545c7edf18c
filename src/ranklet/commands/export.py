"""Pack checkpoints into a bundle of rankers, and neural rankers as proven ONNX variants.

A folder of sentence-transformers, transformers or model2vec is exported as well, without training.
Its output is compared with that of its own library. The command export-onnx does the same. If the
scores of a variant differ too much from PyTorch's on real pairs, the variant is not written and the
exit status is 3.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklet.commands.arguments import (
    METAVARS,
    add_options,
    add_prompts,
    allowed_of,
    options_from,
    with_facts,
)
from ranklet.commands.output import say, show
from ranklet.export.exporter import exported_settings
from ranklet.export.options import ExportOptions
from ranklet.runtime.errors import InputError
from ranklet.runtime.text.marking import STRATEGIES
from ranklet.training.imported.importing import forms

if TYPE_CHECKING:
    from ranklet.corpus.collections.probes import Probes
    from ranklet.training.checkpoint import Checkpoint

EXAMPLE = "example: export-onnx models/all-MiniLM-L6-v2 --layout hub -o minilm"
LAYOUTS = ("bundle", "hub")
BUNDLED = ("dimension", "marking", "prune")  # options that other libraries cannot follow
TABLE = "table"  # in place of a file of queries
REFUSED = 3  # exit status if a variant was refused and others were written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "checkpoints",
        nargs="+",
        metavar="[NAME=]FOLDER",
        help="checkpoint of ranklet, or model of another library, and the ranker's name in the "
        "bundle (default: the folder's name); the first ranker that can retrieve is the default "
        "retriever",
    )
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--layout",
        choices=LAYOUTS,
        default=LAYOUTS[0],
        help="hub writes one model as the folder that transformers.js, FastEmbed and others read",
    )
    parser.add_argument(
        "--probes",
        help="collection with judgements to prove the variants on (default: the probes stored with "
        "a checkpoint)",
    )
    parser.add_argument("--split", help="split of the --probes collection (default: dev)")
    add_options(lambda _: parser, ExportOptions())
    group = parser.add_argument_group("models of other libraries")
    group.add_argument(
        "--as",
        dest="kind",
        metavar="KIND",
        help=f"what the folder contains, if its files do not say it: {', '.join(forms())}",
    )
    group.add_argument(
        "--label", help="label of a cross-encoder that means relevant, or its number"
    )
    group.add_argument(
        "--marking",
        choices=[name for name in STRATEGIES if name != "none"],
        help="exact matches that a cross-encoder was trained to see marked",
    )
    group.add_argument(
        "--download",
        action="store_true",
        help="fetch a model that this machine lacks, by its NAME or NAME@REVISION",
    )
    group.add_argument(
        "--dimension", type=int, metavar="N", help="numbers to keep of a vector (Matryoshka models)"
    )
    add_prompts(group)
    group.add_argument(
        "--texts",
        metavar="SOURCE",
        help="texts to verify the variants on, a file or folder that `ranklet build` reads "
        "(default: ranklet's own)",
    )
    group.add_argument(
        "--queries",
        metavar="FILE",
        help="queries to verify the variants on, one per line, or JSON Lines with a text (default: "
        "titles or sentences of the texts); or the word table, for a table that encodes queries in "
        "place of a network and learns from the texts, too",
    )
    group.add_argument(
        "--table-minutes",
        type=float,
        default=5.0,
        metavar="X",
        help="minutes in which a table of queries learns",
    )
    group = parser.add_argument_group("settings of some kinds", "They replace the checkpoint's.")
    for name in exported_settings():
        add_setting(group, name)


def add_setting(group: "argparse._ActionsContainer", name: str) -> None:
    """Declare the flag of a setting, whose help says what it is for each kind that has it."""
    texts: dict[str, list[str]] = {}
    for kind, option in exported_settings()[name].items():
        texts.setdefault(with_facts(*allowed_of(option)), []).append(kind)
        value = option.kind
    more: dict[str, Any] = {"type": value, "metavar": METAVARS.get(value)}
    if value is bool:
        more = {"action": argparse.BooleanOptionalAction}
    about = "; ".join(f"{', '.join(names)}: {text}" for text, names in texts.items())
    group.add_argument(f"--{name.replace('_', '-')}", help=about, **more)


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    from ranklet.training.imported.importing import needed_extra

    try:
        folders = named_folders(options.checkpoints)
    except InputError:
        return "export"
    return needed_extra(folders.values())


def run(options: argparse.Namespace) -> int:
    """Export, print the proofs and return the exit status."""
    from ranklet.corpus.building import writer
    from ranklet.corpus.evaluation.proof_report import read_reports, report_table
    from ranklet.corpus.progress import one_bar
    from ranklet.export.bundles import check_names, export_bundle
    from ranklet.export.hub import writing
    from ranklet.export.models import steps
    from ranklet.runtime.storage.address import writable

    _check(options)
    hub, chosen = options.layout == "hub", _export_options(options)
    folders = named_folders(options.checkpoints, download=options.download)
    # Refused before models are loaded and compared, which takes minutes.
    (writing if hub else writer).check_target(writable(options.output), options.force)
    if not hub:
        check_names(folders)
    with one_bar(*steps(len(folders), chosen.variants)):
        checkpoints = _read(folders, chosen, options)
        checkpoints = _verified(checkpoints, folders, chosen.probes, options)
        if hub:
            return _export_hub(checkpoints, folders, chosen, options)
        if options.queries == TABLE:
            _export_tables(checkpoints, chosen, options)
        else:
            export_bundle(checkpoints, options.output, chosen, overwrite=options.force)
    reports = read_reports(options.output)
    for name, proofs in reports.items():
        show(f"{name}\n{report_table(proofs)}")
    say(f"{', '.join(checkpoints)} → {options.output}")
    refused = any(proof.refused for proofs in reports.values() for proof in proofs)
    return REFUSED if refused else 0


def _read(
    folders: Mapping[str, Path], chosen: ExportOptions, options: argparse.Namespace
) -> "dict[str, Checkpoint]":
    """Return the checkpoints and models; raise InputError if options do not fit them."""
    from ranklet.export.exporter import exporter
    from ranklet.training.imported.importing import Choices

    hub = options.layout == "hub"
    choices = {name: getattr(options, name) for name in Choices.__annotations__}
    checkpoints = read_folders(folders, options.kind, choices)
    if "prune" in options and not any(exporter(each.kind).prunes for each in checkpoints.values()):
        raise InputError("--prune needs a ranker of sparse vectors, and no checkpoint is one")
    if hub and len(checkpoints) != 1:
        raise InputError(f"--layout hub writes one model, not {len(checkpoints)}")
    bundled = [name for name in BUNDLED if getattr(options, name, None) is not None]
    if hub and (given := min((*chosen.settings, *bundled), default="")):
        raise InputError(
            f"--{given.replace('_', '-')} is for bundles; leave it or --layout hub out"
        )
    return checkpoints


def _export_options(options: argparse.Namespace) -> ExportOptions:
    """Return how the variants are made and proven."""
    usual = ("fp32", "fp16", "int8") if options.layout == "hub" else ExportOptions().variants
    settings = {name: getattr(options, name) for name in exported_settings()}
    chosen = ExportOptions(
        variants=usual,
        probes=_probes(options.probes, options.split or "dev") if options.probes else None,
        settings={name: value for name, value in settings.items() if value is not None},
    )
    return options_from(chosen, vars(options))


def _export_hub(
    checkpoints: "Mapping[str, Checkpoint]",
    folders: Mapping[str, Path],
    chosen: ExportOptions,
    options: argparse.Namespace,
) -> int:
    """Write one model as the folder that others read; return the exit status."""
    from ranklet.corpus.evaluation.proof_report import report_table
    from ranklet.export.hub.writing import export_hub
    from ranklet.training.imported.importing import is_checkpoint

    ((name, checkpoint),) = checkpoints.items()
    original = None if is_checkpoint(folders[name]) else folders[name]
    reports = export_hub(
        checkpoint, original, options.output, chosen, name=name, overwrite=options.force
    )
    show(report_table(reports))
    say(f"{name} → {options.output}")
    return REFUSED if any(report.refused for report in reports) else 0


def _export_tables(
    checkpoints: "Mapping[str, Checkpoint]", chosen: ExportOptions, options: argparse.Namespace
) -> None:
    """Write a bundle whose encoders read queries by tables."""
    import tempfile

    from ranklet.export.bundles import export_bundle
    from ranklet.export.query_tables.options import QueryOptions
    from ranklet.export.query_tables.writing import with_query_tables

    texts = [options.texts] if options.texts else ()
    tables = QueryOptions(queries=TABLE, texts=texts, table_minutes=options.table_minutes)
    with tempfile.TemporaryDirectory() as folder:
        made = export_bundle(checkpoints, Path(folder) / "b", chosen).path
        with_query_tables(
            made,
            options.output,
            tables.learned_from(),
            tables.table_minutes,
            overwrite=options.force,
        )


def named_folders(arguments: list[str], *, download: bool = False) -> dict[str, Path]:
    """Read NAME=FOLDER or FOLDER arguments; return the folders by the rankers' names.

    A folder may be the name of a model in the hub's cache, or one to download.

    Raises:
        InputError: two rankers have the same name, or one is at an address.
    """
    from ranklet.export.imported import ranker_name
    from ranklet.runtime.storage.address import on_disk
    from ranklet.training.imported.hub import model_folder
    from ranklet.training.imported.importing import is_checkpoint

    folders: dict[str, Path] = {}
    for argument in arguments:
        on_disk(argument)  # an address may contain "=", too
        name, _, path = argument.partition("=")
        unnamed = not path or Path(argument).exists()  # no name, or a path that contains "="
        folder = model_folder(argument if unnamed else path, download=download)
        if unnamed:
            name = folder.resolve().name if is_checkpoint(folder) else ranker_name(folder)
        if name in folders:
            raise InputError(f"two rankers are named {name!r}; rename one by NAME=FOLDER")
        folders[name] = on_disk(folder)
    return folders


def read_folders(
    folders: Mapping[str, Path], kind: str | None, choices: "Mapping[str, int | str | None]"
) -> "dict[str, Checkpoint]":
    """Return checkpoints by name, including models of other libraries.

    Args:
        folders: the folders by the rankers' names.
        kind: what the one model of another library contains; None recognises it.
        choices: arguments of `read_model` by name. Each is for the models that have such a choice.

    Raises:
        ModelFolderError: a model of another library cannot be used.
        InputError: a checkpoint cannot be read, or a choice fits no model.
    """
    from ranklet.corpus.progress import progress
    from ranklet.export.models import READING
    from ranklet.training.imported.importing import choices_of, is_checkpoint, read_model

    models = [name for name, path in folders.items() if not is_checkpoint(path)]
    if kind is not None and len(models) != 1:
        raise InputError(f"--as needs one model of another library, not {len(models)}")
    given = {choice: value for choice, value in choices.items() if value is not None}
    unused, checkpoints = set(given), {}
    for name, path in progress(folders.items(), READING, len(folders)):
        own = given
        if len(folders) > 1:  # a wrong choice for a single model is read_model's to explain
            own = {key: given[key] for key in choices_of(path, kind) if key in given}
        checkpoints[name] = read_model(path, kind=kind if name in models else None, **own)  # type: ignore[arg-type]
        unused -= own.keys()
    if unused:
        flag = min(unused).replace("_", "-")
        raise InputError(f"no model here has a {flag} to choose; leave out --{flag}")
    return checkpoints


def _check(options: argparse.Namespace) -> None:
    if options.split and not options.probes:
        raise InputError("--split needs --probes; give the collection, too")
    if options.texts and options.probes:
        raise InputError("--texts has no judgements and --probes has them; give one of the two")
    if options.queries == TABLE and options.layout == "hub":
        raise InputError("a table of queries is for bundles; leave it or --layout hub out")
    if options.queries not in (None, TABLE) and not options.texts:
        raise InputError("--queries needs --texts; give the texts that the queries search, too")


def _verified(
    checkpoints: "dict[str, Checkpoint]",
    folders: Mapping[str, Path],
    probes: "Probes | None",
    options: argparse.Namespace,
) -> "dict[str, Checkpoint]":
    """Print what models of other libraries are; return them with texts to verify them on."""
    from ranklet.export.imported import ORIGINAL, described, with_probes
    from ranklet.training.imported.importing import is_checkpoint

    models = [name for name in checkpoints if not is_checkpoint(folders[name])]
    if not models:
        if options.texts:
            raise InputError(
                "--texts is for models of other libraries, because checkpoints have probes of "
                "their own; to prove them on another collection give --probes"
            )
        return checkpoints
    for name in models:
        say(f"{name}: {described(checkpoints[name])}")
    ready = with_probes(checkpoints, folders, probes or unjudged(options.texts, _queries(options)))
    for name in models:
        say(f"{name}: {ready[name].training[ORIGINAL]}")
    return ready


def _queries(options: argparse.Namespace) -> str | None:
    """Return the file of queries, if there is one."""
    return None if options.queries == TABLE else options.queries


def unjudged(texts: str | None, queries: str | None) -> "Probes":
    """Return texts to verify on, of a source or ranklet's own."""
    from ranklet.corpus.collections.probes import Probes, unjudged_probes
    from ranklet.corpus.sources.options import SourceOptions
    from ranklet.corpus.sources.query_texts import read_query_texts
    from ranklet.corpus.sources.source import Source

    if texts is None:
        return Probes.neutral()
    own = read_query_texts(queries) if queries else ()
    return unjudged_probes(Source(texts, SourceOptions(skip_bad=True), say).documents(), own)


def _probes(path: str, split: str) -> "Probes":
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.collections.probes import draw_probes
    from ranklet.corpus.collections.splits import read_split
    from ranklet.corpus.judgements.judgements import check_judgements

    collection = Collection(path)
    queries = read_split(collection, split)
    check_judgements(collection, [split], collection.lacking, str(collection.path))
    return draw_probes(collection.documents(), queries)
