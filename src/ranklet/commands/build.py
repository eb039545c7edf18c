"""Build a search from any texts, without judgements and without training.

SOURCE is a CSV, TSV, JSON, JSON Lines, Parquet or Excel file, a text, Markdown or HTML file, a PDF,
DOCX, PPTX, EPUB, EML or MBOX file, a folder of such files, a saved dataset, or a table of SQLite as
sqlite:///FILE?table=NAME or ?query=SELECT…. Texts and tables may be compressed as .gz or .zst.
Without --model, words are searched (BM25). With models, their scores are added up, and a
cross-encoder reranks the best.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ranklet.commands.arguments import add_group, add_groups, options_from
from ranklet.commands.output import say
from ranklet.commands.recipe import RECIPE, check_refused, check_replaced, name_build, read_recipe
from ranklet.runtime.answers.console import suggest_command
from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import Checked, read_each, read_from, read_names, switch, text


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Checked):
    """The models of a search, and how they are exported."""

    GROUP = "models"

    model: Sequence[str] = read_each(
        (), "model of sentence-transformers, transformers or ranklet, or its name on the hub; may "
        "be repeated", tuple, flag="--model",
    )  # fmt: skip
    download: bool = switch(False, "fetch a --model that this machine lacks, NAME or NAME@REVISION")
    variants: Sequence[str] | None = read_from(
        None, "comma-separated variants of models, of fp32, fp16 (for GPUs), int8 and openvino "
        "(for CPUs; openvino is faster and needs packages) (default: int8)", read_names,
    )  # fmt: skip
    stored: str | None = text(
        None, "how the vectors of documents are stored, such as float16; by default as `ranklet "
        "export --help` says, which lists the names of each kind"
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Check every value, and that there is a model for it."""
        super().__post_init__()
        for name in ("variants", "stored", "download"):
            if getattr(self, name) and not self.model and name != "stored":
                raise InputError(
                    f"--{name} has no effect without a --model; leave it out, or give one"
                )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from ranklet.workflows.build_options import BUILD

    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        help="file or folder with the documents, -, or sqlite:///FILE?table=NAME; by default that "
        "of the recipe",
    )
    parser.add_argument("-o", "--output", help="bundle to write, a folder or .zip")
    parser.add_argument(
        "--recipe", type=Path, metavar="FILE",
        help="file with these flags as keys; by default ranklet.toml, if no SOURCE is given",
    )  # fmt: skip
    parser.add_argument(
        "--synonyms", type=Path, metavar="FILE", help="file of synonyms (docs/searching.md)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")
    add_group(parser, ModelOptions())
    add_groups(parser, BUILD)


def read_arguments(parser: argparse.ArgumentParser, typed: Sequence[str]) -> argparse.Namespace:
    """Return the options that were typed, and those of a recipe."""
    options = parser.parse_args(typed)
    if options.source is not None and not options.recipe:
        return _complete(parser, options)
    recipe, named, forced = options.recipe or RECIPE, bool(options.recipe), options.force
    if not named and not recipe.is_file():
        parser.error("SOURCE is missing, and there is no ranklet.toml here that names one")
    try:
        given = read_recipe(recipe, parser, typed, source=options.source is not None)
        say(f"{recipe} says: {parser.prog} {given}")
        if not named:
            check_refused(given, recipe)
        options = _complete(parser, parser.parse_args([*given.words, *typed]))
        if options.force and not (named or forced):
            check_replaced(recipe, options.output)
        options.recipe = recipe
    except InputError as error:
        parser.error(str(error))
    return options


def _complete(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.Namespace:
    """Return options that have what a build needs."""
    if options.source is None:
        parser.error("SOURCE is missing; give a file or folder with the documents")
    if options.output is None:
        parser.error("the following arguments are required: -o/--output")
    return options


def run(options: argparse.Namespace) -> None:
    """Build the bundle."""
    from ranklet.corpus.building.synonyms import write_synonyms
    from ranklet.corpus.languages.names import LANGUAGES
    from ranklet.corpus.progress import say as announce
    from ranklet.corpus.sources.source import Source
    from ranklet.corpus.updating.update import VOCABULARY
    from ranklet.export.options import ExportOptions
    from ranklet.handlers.api.examples import SAMPLES, example_queries
    from ranklet.runtime.bundles.manifest import in_words
    from ranklet.training.imported.hub import model_folder
    from ranklet.workflows.build import build
    from ranklet.workflows.build_options import BUILD, SOURCE

    own = options_from(ModelOptions(), vars(options))
    if options.synonyms and not options.synonyms.is_file():
        raise InputError(f"--synonyms {str(options.synonyms)!r} is no file")
    models = [model_folder(each, download=own.download) for each in own.model]
    chosen = options_from(replace(BUILD, models=models), vars(options))
    if own.stored and not models and chosen.vectors is None:
        raise InputError("--stored has no effect without a --model or --vectors; leave it out")
    if models or own.stored:
        stored = {"stored": own.stored} if own.stored else {}
        variants = tuple(own.variants or ("int8",))
        chosen = replace(chosen, export=ExportOptions(variants=variants, settings=stored))
    source = Source(options.source, chosen.source, announce, fresh=True)
    built_by = options.recipe and name_build(options.recipe, options.output)
    chosen = replace(chosen, source=SOURCE, recipe=built_by)  # the source has its options
    bundle = build(source, options.output, chosen, overwrite=options.force)
    say(f"{bundle.size} → {options.output}")
    shares = bundle.manifest.provenance.get("languages", {chosen.words.language: 1.0})
    say(", ".join(f"{LANGUAGES[code]} {share:.0%}" for code, share in shares.items()))
    for name, report in bundle.manifest.provenance["checkpoints"].items():
        if VOCABULARY in report:
            say(f"{name}: {report[VOCABULARY]}")
    if bundle.metadata:
        say(f"metadata: {in_words(bundle.metadata)}")
    if options.synonyms:
        say(write_synonyms(bundle, options.synonyms))
    query = example_queries(bundle.sample_texts(SAMPLES))[0]
    say(f"try: {suggest_command('rank', options.output, query)}")
