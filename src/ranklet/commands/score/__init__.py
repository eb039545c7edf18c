"""Score the candidates of training queries by a cross-encoder, once for all students.

`ranklet train KIND --teacher FILE` learns from the file. A run that was interrupted is continued by
the same command.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ranklet.commands.arguments import add_engine, add_options, engine_from, options_from
from ranklet.commands.output import complain, say
from ranklet.runtime.errors import InputError
from ranklet.runtime.storage.address import is_address
from ranklet.training.checkpoint import RANKLET as CHECKPOINT
from ranklet.training.distilling.options import ScoreOptions
from ranklet.training.distilling.score_file import read_scores

if TYPE_CHECKING:
    from ranklet.corpus.distributed.options import EngineOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("teacher", help="cross-encoder, its checkpoint or a bundle that has one")
    parser.add_argument("collection", help="collection folder in BEIR form")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument(
        "--split", default="train[:90%]",
        help="judged queries that are scored, as `ranklet train` learns from them",
    )  # fmt: skip
    parser.add_argument(
        "--max-queries", type=int, metavar="N", help="most queries, drawn at random (default: all)"
    )
    parser.add_argument(
        "--ranker", metavar="NAME", help="the bundle's cross-encoder, if it has several"
    )
    parser.add_argument(
        "--candidates", metavar="BUNDLE", action="append",
        help="bundle whose best documents are scored, too; may be repeated",
    )  # fmt: skip
    add_options(lambda _: parser, ScoreOptions())
    add_engine(parser)


def needs(arguments: argparse.Namespace) -> str:
    """Return the smallest extra that suffices; a bundle runs without PyTorch."""
    return "train" if (Path(arguments.teacher) / CHECKPOINT).is_file() else "onnx"


def run(options: argparse.Namespace) -> None:
    """Score the candidates and write the file."""
    from ranklet.corpus.collections.collection import Collection
    from ranklet.corpus.collections.splits import read_split
    from ranklet.corpus.distributed.cluster import connected
    from ranklet.corpus.judgements.judgements import check_judgements
    from ranklet.runtime import load
    from ranklet.training.distilling.scoring import score
    from ranklet.training.distilling.teacher import read_teacher
    from ranklet.training.kept_state import remove_state, state_folder

    output = Path(options.output)
    _check_place(output, force=options.force)
    chosen, engine = options_from(ScoreOptions(), vars(options)), engine_from(options)
    _check_device(chosen.device, engine)
    if chosen.pipeline and not options.candidates:
        raise InputError("--pipeline is that of --candidates bundles; give one, or leave it out")
    if engine.on_ray and is_address(options.teacher):
        raise InputError("--engine ray takes the teacher from a disk of this machine; download it")
    teacher = read_teacher(options.teacher, options.ranker, chosen.device)
    bundles = [load(path, device=chosen.device) for path in options.candidates or []]
    collection = Collection(options.collection)
    check_judgements(collection, [options.split], collection.lacking, str(collection.path))
    queries = read_split(collection, options.split, limit=options.max_queries)
    state = state_folder(output)
    try:
        with connected(engine) as cluster:
            score_blocks = None
            if cluster is not None:
                from ranklet.commands.score.blocks import scorer_on

                score_blocks = scorer_on(
                    cluster, Path(options.teacher), options.ranker, engine.device
                )
            scores = score(
                teacher, collection, queries, chosen, candidates=bundles,
                facts={"split": options.split}, folder=state, each=score_blocks,
            )  # fmt: skip
    except KeyboardInterrupt:
        if state.exists():
            complain(f"\nthe same command goes on from {state}")
        raise
    scores.save(output)
    remove_state(state)
    say(f"{len(scores.scores):,} scores of {len(scores.queries):,} queries → {output}")


def _check_device(device: str, engine: "EngineOptions") -> None:
    """Raise InputError if models would run elsewhere on a cluster than the options say."""
    if engine.on_ray and device not in ("auto", engine.device):
        raise InputError(
            f"--device {device} is not what --gpus-per-actor says; on a cluster leave --device out"
        )


def _check_place(path: Path, *, force: bool) -> None:
    """Raise InputError unless a file can be written to a path."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(
            f"cannot write scores to {str(path)!r}; give the name of a file in an existing folder"
        )
    if path.exists() and not force:
        raise InputError(f"{str(path)!r} exists; choose another name, or replace it with --force")
    if path.exists():
        try:
            read_scores(path)
        except InputError as error:
            raise InputError(
                f"{error}; only scores are replaced, so choose another name"
            ) from error
