"""Build a search from any texts, without judgements and without training.

SOURCE is a CSV, TSV, JSON, JSON Lines or Parquet file, a text, Markdown or HTML file, a folder of
such files, or a saved dataset. Names may end in .gz or .zst. Without --model, words are searched
(BM25). With models, their scores are added up, and a cross-encoder reranks the best.
"""

import argparse

from ranklet.commands.arguments import (
    add_engine,
    add_group,
    add_prompts,
    engine_from,
    names_of,
    options_from,
)
from ranklet.commands.output import say
from ranklet.runtime.console import suggested


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from ranklet.corpus.building.default_fusion import FusionOptions
    from ranklet.corpus.languages.names import AUTO
    from ranklet.corpus.languages.options import TextOptions
    from ranklet.corpus.sources.options import SourceOptions
    from ranklet.export.build import VOCABULARIES

    parser.add_argument("source", metavar="SOURCE", help="file or folder with the documents, or -")
    parser.add_argument("-o", "--output", required=True, help="bundle to write, a folder or .zip")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="FOLDER",
        help="model of sentence-transformers, transformers or ranklet, or its name on the hub; may "
        "be repeated",
    )
    parser.add_argument(
        "--download",
        action="store_true",
        help="fetch a --model that this machine lacks, NAME or NAME@REVISION",
    )
    parser.add_argument(
        "--label", help="label of a cross-encoder that means relevant, a name or a number"
    )
    add_prompts(parser)
    parser.add_argument(
        "--vocabulary", choices=VOCABULARIES, default=VOCABULARIES[0],
        help="tokens that models keep: all of the model's, or those of the collection, so that a "
        "multilingual model takes a third of its memory and other words of queries are split",
    )  # fmt: skip
    parser.add_argument(
        "--variants", metavar="NAMES",
        help="comma-separated variants of models, of fp32, fp16 (for GPUs), int8 and openvino (for "
        "CPUs; openvino is faster and needs packages) (default: int8)",
    )  # fmt: skip
    parser.add_argument(
        "--stored", metavar="NAME",
        help="how the vectors of documents are stored, such as float16; `ranklet export --help` "
        "lists the names of each kind",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--no-titles", action="store_true", help="do not rank the titles of documents"
    )
    parser.add_argument(
        "--title-boost", type=float, metavar="X",
        help="how often BM25 counts each word of a title, from 1 to 100 (default 2)",
    )  # fmt: skip
    parser.add_argument(
        "--impacts", default="float32", metavar="TYPE",
        help="how BM25's impacts are stored: float32 (default), float16 or uint8",
    )  # fmt: skip
    for each in (SourceOptions(), TextOptions(language=AUTO), FusionOptions()):
        add_group(parser, each)
    add_engine(parser)


def run(options: argparse.Namespace) -> None:
    """Build the bundle."""
    from ranklet.corpus.building.default_fusion import FusionOptions
    from ranklet.corpus.languages.names import AUTO, LANGUAGES
    from ranklet.corpus.languages.options import TextOptions
    from ranklet.corpus.progress import say as announce
    from ranklet.corpus.sources.options import SourceOptions
    from ranklet.corpus.sources.source import Source
    from ranklet.corpus.updating.update import VOCABULARY
    from ranklet.export.build import build
    from ranklet.export.options import ExportOptions
    from ranklet.runtime.bundles.manifest import in_words
    from ranklet.runtime.errors import InputError
    from ranklet.training.imported.hub import model_folder

    for name in ("variants", "stored", "download"):
        if getattr(options, name) and not options.model:
            raise InputError(f"--{name} has no effect without a --model; leave it out, or give one")
    words = options_from(TextOptions(language=AUTO), vars(options))
    bundle = build(
        Source(options.source, options_from(SourceOptions(), vars(options)), announce),
        options.output,
        models=[model_folder(each, download=options.download) for each in options.model],
        label=options.label,
        query_prompt=options.query_prompt,
        document_prompt=options.document_prompt,
        vocabulary=options.vocabulary,
        export=ExportOptions(
            variants=tuple(names_of(options.variants or "int8")),
            settings={"stored": options.stored} if options.stored else {},
        )
        if options.model
        else None,
        titles=not options.no_titles,
        language=words.language,
        normaliser=words.normaliser,
        forms=words.forms,
        title_boost=options.title_boost,
        impacts=options.impacts,
        overwrite=options.force,
        engine=engine_from(options),
        fusion=options_from(FusionOptions(), vars(options)),
    )
    say(f"{bundle.size} → {options.output}")
    shares = bundle.manifest.provenance.get("languages", {words.language: 1.0})
    say(", ".join(f"{LANGUAGES[code]} {share:.0%}" for code, share in shares.items()))
    for name, report in bundle.manifest.provenance["checkpoints"].items():
        if VOCABULARY in report:
            say(f"{name}: {report[VOCABULARY]}")
    if bundle.metadata:
        say(f"metadata: {in_words(bundle.metadata)}")
    say(f"sha256: {bundle.manifest.sha256}")
    query = " ".join(bundle.sample_texts(1)[0].split())
    say(f"try: {suggested('rank', options.output, query)}")
