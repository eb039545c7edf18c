"""Let a table with one vector per token learn to encode queries as a model's network does.

The folder that is written has the model's network for documents and the table for queries, so that
searches with it need no onnxruntime. `ranklet build --model` and `ranklet export` take it.
"""

import argparse

from ranklet.commands.output import say

EXAMPLE = "example: ranklet table models/all-MiniLM-L6-v2 texts.csv -o models/minilm-table"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "model", help="sentence encoder, a folder or a model's name on the hub, as of `build`"
    )
    parser.add_argument(
        "texts",
        nargs="*",
        metavar="TEXTS",
        help="files or folders of texts from which it learns; without any, it learns from random "
        "words of the model",
    )
    parser.add_argument("-o", "--output", required=True, help="folder to write")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="minutes in which it learns, at most 60"
    )
    parser.add_argument("--download", action="store_true", help="fetch a model of the hub")
    parser.add_argument("--force", action="store_true", help="replace an earlier folder")


def needs(_: argparse.Namespace) -> str:
    """Return the smallest extra that suffices."""
    return "export"


def run(options: argparse.Namespace) -> None:
    """Learn the table and write the folder."""
    from ranklet.training.imported.hub import model_folder
    from ranklet.workflows.tables.checkpoints import write_table
    from ranklet.workflows.tables.options import QueryOptions

    chosen = QueryOptions(queries="table", table_minutes=options.minutes, texts=options.texts)
    model = model_folder(options.model, download=options.download)
    write_table(
        model, options.output, chosen.learned_from(), chosen.table_minutes, overwrite=options.force
    )
    say(f"{options.model} with a table of queries → {options.output}")
