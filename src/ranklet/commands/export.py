"""Pack checkpoints into a bundle of rankers, and neural rankers as proven ONNX variants.

A folder of sentence-transformers, transformers or model2vec is exported as well, without training.
Its output is compared with that of its own library. The command export-onnx does the same. If the
scores of a variant differ too much from PyTorch's on real pairs, the variant is not written and the
exit status is 3.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ranklet.commands.arguments import (
    METAVARS,
    add_group,
    add_options,
    describe_allowed,
    options_from,
    with_facts,
)
from ranklet.commands.output import say, show
from ranklet.export.exporter import list_export_settings
from ranklet.export.options import ExportOptions
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Checked, integer, number, one_of, place, switch, text
from ranklet.runtime.text.marking import STRATEGIES
from ranklet.training.imported.importing import Choices, forms

if TYPE_CHECKING:
    from ranklet.corpus.collections.probes import Probes
    from ranklet.training.checkpoint import Checkpoint

EXAMPLE = "example: export-onnx models/all-MiniLM-L6-v2 --layout hub -o minilm"
LAYOUTS = ("bundle", "hub")
BUNDLED = ("dimension", "marking", "prune")  # options that other libraries cannot follow
PROMPT = "text before every {} of an encoder, by default what its folder says"
REFUSED = 3  # exit status if a variant was refused and others were written


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Checked):
    """What is written, and on which judgements it is proven."""

    GROUP = "options"

    layout: str = one_of(
        LAYOUTS[0], LAYOUTS, "hub writes one model as the folder that transformers.js, FastEmbed "
        "and others read"
    )  # fmt: skip
    probes: Path | None = place(
        "collection with judgements to prove the variants on (default: the probes stored with a "
        "checkpoint)"
    )
    split: str | None = text(None, "split of the --probes collection (default: dev)")


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Checked):
    """What models of other libraries are, and which texts verify them."""

    GROUP = "models of other libraries"
    TABLE: ClassVar[str] = "table"  # in place of a file of queries

    kind: str | None = text(
        None, "what the folder contains, by default what its files say: " + ", ".join(forms()),
        flag="--as",
    )  # fmt: skip
    label: str | None = text(
        None, "label of a cross-encoder that means relevant, or its number; by default the only one"
    )
    marking: str | None = one_of(
        None, [name for name in STRATEGIES if name != "none"],
        "exact matches that a cross-encoder was trained to see marked, by default none",
    )  # fmt: skip
    download: bool = switch(
        False, "fetch a model that this machine lacks, by its NAME or NAME@REVISION"
    )
    dimension: int | None = integer(
        None, "numbers to keep of a vector (Matryoshka models), by default all", 1
    )
    query_prompt: str | None = text(None, PROMPT.format("query"))
    document_prompt: str | None = text(None, PROMPT.format("document"))
    texts: str | None = text(
        None, "texts to verify the variants on, a file or folder that `ranklet build` reads "
        "(default: ranklet's own)"
    )  # fmt: skip
    queries: str | None = text(
        None, "queries to verify the variants on, a file with one per line, or JSON Lines with a "
        "text (default: titles or sentences of the texts); or the word table, for a table that "
        "encodes queries in place of a network and learns from the texts, too",
    )  # fmt: skip
    table_minutes: float = number(5.0, "minutes in which a table of queries learns", 0.01, 60)

    @property
    def choices(self) -> dict[str, int | str | None]:
        """What is chosen of the models; see `read_model`."""
        return {name: getattr(self, name) for name in Choices.__annotations__}

    @property
    def table(self) -> bool:
        """Whether a table encodes queries."""
        return self.queries == self.TABLE

    def probes(self) -> "Probes":
        """Return the texts to verify the models on."""
        return read_unjudged(self.texts, None if self.table else self.queries)

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if not (self.queries is None or self.table or self.texts):
            raise InputError("--queries needs --texts; give the texts that the queries search, too")


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
    add_options(lambda _: parser, OutputOptions())
    add_options(lambda _: parser, ExportOptions())
    add_group(parser, ModelOptions())
    group = parser.add_argument_group("settings of some kinds", "They replace the checkpoint's.")
    for name in list_export_settings():
        add_setting(group, name)


def add_setting(group: "argparse._ActionsContainer", name: str) -> None:
    """Declare the flag of a setting, whose help says what it is for each kind that has it."""
    texts: dict[str, list[str]] = {}
    for kind, option in list_export_settings()[name].items():
        texts.setdefault(with_facts(*describe_allowed(option)), []).append(kind)
        value = option.kind
    more: dict[str, Any] = {"type": value, "metavar": METAVARS.get(value)}
    if value is bool:
        more = {"action": argparse.BooleanOptionalAction}
    about = "; ".join(f"{', '.join(names)}: {text}" for text, names in texts.items())
    group.add_argument(f"--{name.replace('_', '-')}", help=about, **more)


def needs(options: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    from ranklet.training.imported.importing import find_needed_extra

    try:
        folders = read_named_folders(options.checkpoints)
    except InputError:
        return "export"
    return find_needed_extra(folders.values())


def run(options: argparse.Namespace) -> int:
    """Export, print the proofs and return the exit status."""
    from ranklet.corpus.building import writer
    from ranklet.corpus.evaluation.proof_report import read_reports, report_table
    from ranklet.corpus.progress import one_bar
    from ranklet.export.bundles import check_names, export_bundle
    from ranklet.export.hub import folder as writing
    from ranklet.runtime.storage.address import writable
    from ranklet.workflows.models import steps

    output = options_from(OutputOptions(), vars(options))
    models = options_from(ModelOptions(), vars(options))
    _check(output, models)
    hub, chosen = output.layout == "hub", _export_options(options, output)
    folders = read_named_folders(options.checkpoints, download=models.download)
    # Refused before models are loaded and compared, which takes minutes.
    (writing if hub else writer).check_target(writable(options.output), options.force)
    if not hub:
        check_names(folders)
    with one_bar(*steps(len(folders), chosen.variants)):
        checkpoints = read_folders(folders, models.kind, models.choices)
        _check_read(checkpoints, chosen, options, hub)
        checkpoints = _verify(checkpoints, folders, chosen.probes, models)
        if hub:
            return _export_hub(checkpoints, folders, chosen, options)
        if models.table:
            _export_tables(checkpoints, chosen, models, options)
        else:
            export_bundle(checkpoints, options.output, chosen, overwrite=options.force)
    reports = read_reports(options.output)
    for name, proofs in reports.items():
        show(f"{name}\n{report_table(proofs)}")
    say(f"{', '.join(checkpoints)} → {options.output}")
    refused = any(proof.refused for proofs in reports.values() for proof in proofs)
    return REFUSED if refused else 0


def _check(output: OutputOptions, models: ModelOptions) -> None:
    if output.split and not output.probes:
        raise InputError("--split needs --probes; give the collection, too")
    if models.texts and output.probes:
        raise InputError("--texts has no judgements and --probes has them; give one of the two")
    if models.table and output.layout == "hub":
        raise InputError("a table of queries is for bundles; leave it or --layout hub out")


def _check_read(
    checkpoints: "Mapping[str, Checkpoint]",
    chosen: ExportOptions,
    options: argparse.Namespace,
    hub: bool,
) -> None:
    """Raise InputError if options do not fit the checkpoints and models."""
    from ranklet.export.exporter import exporter

    if "prune" in options and not any(exporter(each.kind).prunes for each in checkpoints.values()):
        raise InputError("--prune needs a ranker of sparse vectors, and no checkpoint is one")
    if hub and len(checkpoints) != 1:
        raise InputError(f"--layout hub writes one model, not {len(checkpoints)}")
    bundled = [name for name in BUNDLED if name in options]
    if hub and (given := min((*chosen.settings, *bundled), default="")):
        raise InputError(
            f"--{given.replace('_', '-')} is for bundles; leave it or --layout hub out"
        )


def _export_options(options: argparse.Namespace, output: OutputOptions) -> ExportOptions:
    """Return how the variants are made and proven."""
    usual = ("fp32", "fp16", "int8") if output.layout == "hub" else ExportOptions().variants
    settings = {name: getattr(options, name) for name in list_export_settings()}
    chosen = ExportOptions(
        variants=usual,
        probes=_probes(output.probes, output.split or "dev") if output.probes else None,
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
    from ranklet.export.hub.folder import export_hub
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
    checkpoints: "Mapping[str, Checkpoint]",
    chosen: ExportOptions,
    models: ModelOptions,
    options: argparse.Namespace,
) -> None:
    """Write a bundle whose encoders read queries by tables."""
    import tempfile

    from ranklet.export.bundles import export_bundle
    from ranklet.workflows.tables.options import QueryOptions
    from ranklet.workflows.tables.vectors import with_query_tables

    texts = [models.texts] if models.texts else ()
    learned = QueryOptions(queries=models.TABLE, texts=texts).learned_from()
    with tempfile.TemporaryDirectory() as folder:
        made = export_bundle(checkpoints, Path(folder) / "b", chosen).path
        minutes = models.table_minutes
        with_query_tables(made, options.output, learned, minutes, overwrite=options.force)


def read_named_folders(arguments: list[str], *, download: bool = False) -> dict[str, Path]:
    """Read NAME=FOLDER or FOLDER arguments; return the folders by the rankers' names.

    A folder may be the name of a model in the hub's cache, or one to download.

    Raises:
        InputError: two rankers have the same name, or one is at an address.
    """
    from ranklet.runtime.storage.address import on_disk
    from ranklet.training.imported.hub import model_folder
    from ranklet.training.imported.importing import is_checkpoint
    from ranklet.workflows.imported import ranker_name

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
    from ranklet.training.imported.importing import is_checkpoint, list_choices, read_model
    from ranklet.workflows.models import READING

    models = [name for name, path in folders.items() if not is_checkpoint(path)]
    if kind is not None and len(models) != 1:
        raise InputError(f"--as needs one model of another library, not {len(models)}")
    given = {choice: value for choice, value in choices.items() if value is not None}
    unused, checkpoints = set(given), {}
    for name, path in progress(folders.items(), READING, len(folders)):
        own = given
        if len(folders) > 1:  # a wrong choice for a single model is read_model's to explain
            own = {key: given[key] for key in list_choices(path, kind) if key in given}
        checkpoints[name] = read_model(path, kind=kind if name in models else None, **own)  # type: ignore[arg-type]
        unused -= own.keys()
    if unused:
        flag = min(unused).replace("_", "-")
        raise InputError(f"no model here has a {flag} to choose; leave out --{flag}")
    return checkpoints


def _verify(
    checkpoints: "dict[str, Checkpoint]",
    folders: Mapping[str, Path],
    probes: "Probes | None",
    models: ModelOptions,
) -> "dict[str, Checkpoint]":
    """Print what models of other libraries are; return them with texts to verify them on."""
    from ranklet.training.imported.importing import is_checkpoint
    from ranklet.workflows.imported import ORIGINAL, describe_model, with_probes

    others = [name for name in checkpoints if not is_checkpoint(folders[name])]
    if not others:
        if models.texts:
            raise InputError(
                "--texts is for models of other libraries, because checkpoints have probes of "
                "their own; to prove them on another collection give --probes"
            )
        return checkpoints
    for name in others:
        say(f"{name}: {describe_model(checkpoints[name])}")
    ready = with_probes(checkpoints, folders, probes or models.probes())
    for name in others:
        if ORIGINAL in ready[name].training:
            say(f"{name}: {ready[name].training[ORIGINAL]}")
    return ready


def read_unjudged(texts: str | None, queries: str | None) -> "Probes":
    """Return texts to verify on, of a source or ranklet's own."""
    from ranklet.corpus.collections.probes import Probes, unjudged_probes
    from ranklet.corpus.sources.options import SourceOptions
    from ranklet.corpus.sources.query_texts import read_query_texts
    from ranklet.corpus.sources.source import Source

    if texts is None:
        return Probes.neutral()
    own = read_query_texts(queries) if queries else ()
    return unjudged_probes(Source(texts, SourceOptions(skip_bad=True), say).documents(), own)


def _probes(path: Path, split: str) -> "Probes":
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.collections.probes import draw_probes
    from ranklet.corpus.collections.splits import read_split
    from ranklet.corpus.judgements.judgements import check_judgements

    collection = Collection(path)
    queries = read_split(collection, split)
    check_judgements(collection, [split], collection.lacking, str(collection.path))
    return draw_probes(collection.documents(), queries)
