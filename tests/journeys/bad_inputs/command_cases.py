"""Options, bundles and models that cannot be used, given to commands."""

import zipfile
from operator import attrgetter
from pathlib import Path

from tests.journeys.bad_inputs.files import Maker, copied, damaged, file, folder, zipped
from tests.journeys.bad_inputs.running import Case, Place, cli

OUT, BUNDLE, RANKERS = attrgetter("out"), attrgetter("bundle"), attrgetter("rankers")
COLLECTION, CHECKPOINT = attrgetter("collection"), attrgetter("checkpoint")

Argument = str | Maker


def option(name: str, words: str, *arguments: Argument, status: int = 1) -> Case:
    return cli("options", name, status, words, *arguments)


def bundle(name: str, words: str, source: Maker) -> Case:
    return cli("bundles", name, 1, words, "rank", source, "dough")


def model(name: str, words: str, source: Maker, *options: str, status: int = 2) -> Case:
    return cli("models", name, status, words, "export", source, "-o", OUT, *options)


def existing(place: Place) -> Path:
    """Return a file that was there before."""
    return file("out", "precious")(place)


def inside_a_file(place: Place) -> Path:
    return existing(place) / "x"


def other_folder(place: Place) -> Path:
    """Return a folder of the user's own files."""
    return folder(letter__txt="precious")(place)


OPTIONS = [
    option("no such command", "there is no command", "fly", status=2),
    option("no such option", "unrecognized", "rank", BUNDLE, "dough", "--filter", "x", status=2),
    option("k is negative", "from 0", "rank", BUNDLE, "dough", "-k", "-1", status=2),
    option("k is a word", "whole number", "rank", BUNDLE, "dough", "-k", "many", status=2),
    option("the pipeline is unknown", "unknown pipeline", "rank", BUNDLE, "x", "--pipeline", "y"),
    option("the query is empty", "compares hits with a query", "rank", BUNDLE, "", "--relevance"),
    option("the query has only stop words", "no hits for", "rank", BUNDLE, "the of and", status=0),
    option("the query has no known word", "no hits for", "rank", BUNDLE, "zqx", status=0),
    option("the budget is NaN", "budget_ms", "rank", BUNDLE, "x", "--budget-ms", "nan",
           status=2),
    option("the document is unknown", "unknown document", "explain", BUNDLE, "dough", "nobody"),
    option("the page's folder is missing", "existing folder", "explain", BUNDLE, "dough",
           "--html", lambda place: place.folder / "no" / "page.html"),
    option("a measure is unknown", "unknown measure", "eval", BUNDLE, COLLECTION,
           "--measures", "XYZ@10"),
    option("the depth is 0", "depth", "eval", BUNDLE, COLLECTION, "--depth", "0",
           status=2),
    option("fewer queries than none", "max_queries is -1; it must be a whole number from 1", "eval",
           BUNDLE, COLLECTION, "--max-queries", "-1", status=2),
    option("a pipeline is given twice", "twice", "eval", BUNDLE, COLLECTION,
           "--pipelines", "bm25,bm25"),
    option("nothing is compared", "from 1", "eval", BUNDLE, COLLECTION, "--consistency", "0",
           status=2),
    option("the evaluated split is missing", "no split", "eval", BUNDLE, COLLECTION,
           "--split", "dev"),
    option("runs are written into a file", "", "eval", BUNDLE, COLLECTION, "--runs", existing),
    option("the output is a file", "exists", "index", BUNDLE, COLLECTION, "-o", existing),
    option("the output is a user's folder", "", "index", BUNDLE, COLLECTION, "--force",
           "-o", other_folder),
    option("the output is inside a file", "cannot be written", "build", COLLECTION,
           "-o", inside_a_file),
    option("the output is the source", "", "build", copied("texts"), "--force", "--skip-bad",
           "-o", lambda place: place.folder / "texts"),
    option("a checkpoint replaces the collection", "no checkpoint", "train", "bm25",
           copied("texts"), "--force", "-o", lambda place: place.folder / "texts"),
    option("a bundle replaces the checkpoint", "", "export", CHECKPOINT, "--force",
           "-o", CHECKPOINT),
    option("the port is too large", "65535", "serve", BUNDLE, "--port", "70000",
           status=2),
    option("the port is a word", "whole number", "serve", BUNDLE, "--port", "http", status=2),
    option("the host is nonsense", "cannot listen", "serve", BUNDLE, "--host", "no such host",
           "--port", "0"),
    option("no process serves", "from 1", "serve", BUNDLE, "--workers", "0", status=2),
    option("a kind is unknown", "invalid choice", "train", "bm42", COLLECTION, "-o", OUT,
           status=2),
    option("another kind's option", "unrecognized", "train", "bm25", COLLECTION, "-o", OUT,
           "--epochs", "3", status=2),
    option("a learning rate is negative", "", "train", "dense", COLLECTION, "-o", OUT,
           "--lr", "-1", status=2),
    option("a time is NaN", "", "train", "dense", COLLECTION, "-o", OUT,
           "--minutes", "nan", status=2),
    option("a measure cannot be tuned", "allowed are", "train", "bm25", COLLECTION, "-o", OUT,
           "--measure", "beauty"),
    option("no query to tune on", "above 0", "train", "bm25", COLLECTION, "-o", OUT,
           "--max-queries", "0"),
    option("a variant is unknown", "fp8", "export", CHECKPOINT, "-o", OUT, "--variants", "fp8"),
    option("a loss is NaN", "max_ndcg_loss", "export", CHECKPOINT, "-o", OUT,
           "--max-ndcg-loss", "nan", status=2),
    option("a size is negative", "max_mb", "export", CHECKPOINT, "-o", OUT, "--max-mb", "-1",
           status=2),
    option("pruning to a word", "--prune", "export", CHECKPOINT, "-o", OUT, "--prune", "few",
           status=2),
    option("a label without a model", "no model has labels", "build", COLLECTION, "-o", OUT,
           "--label", "1"),
    option("the demo has no such option", "unrecognized", "demo", "-k", "3", "-o", OUT, status=2),
    option("the demo's folder is a file", "", "demo", "--lexical", "-o", existing),
    option("steps and epochs", "--epochs", "train", "dense", COLLECTION, "-o", OUT,
           "--steps", "9", "--epochs", "1"),
    option("the scores are missing", "does not exist", "train", "dense", COLLECTION, "-o", OUT,
           "--teacher", lambda place: place.folder / "no.run"),
    option("the scores are garbage", "expected 6", "train", "dense", COLLECTION, "-o", OUT,
           "--teacher", file("scores.run", b"PK garbage")),
    option("a teacher and negatives", "leave out --negatives", "train", "dense", COLLECTION,
           "-o", OUT, "--teacher", file("scores.run"), "--negatives", "bm25"),
    option("a scale without a teacher", "needs a --teacher", "train", "tk", COLLECTION,
           "-o", OUT, "--teacher-scale", "2"),
    option("no query is judged", "no query", "judge", BUNDLE, file("q.txt", "\n \n"),
           "-o", OUT, "--no-browser"),
    option("the queries to judge are missing", "", "judge", BUNDLE,
           lambda place: place.folder / "no.txt", "-o", OUT, "--no-browser"),
    option("marks go into a user's folder", "", "judge", BUNDLE, file("q.txt", "dough\n"),
           "--no-browser", "-o", other_folder),
]  # fmt: skip

BUNDLES = [
    bundle("nothing is there", "no bundle at", lambda place: place.folder / "nothing"),
    bundle("the folder is no bundle", "manifest.json", folder(notes__txt="x")),
    bundle("the zip is compressed", "compressed",
           zipped({"manifest.json": b"{}" + b" " * 1_000_000}, zipfile.ZIP_DEFLATED)),
    bundle("the manifest is garbage", "JSON", damaged("manifest.json", b"{oops")),
    bundle("a file is cut off", "", damaged("documents/ids.npy", cut=1)),
    bundle("there is no collection", "ranklet index", RANKERS),
    cli("bundles", "a bundle without a collection is evaluated", 1, "ranklet index",
        "eval", RANKERS, COLLECTION),
    cli("bundles", "a foreign file is found", 1, "not listed", "verify",
        damaged("README.md", b"x")),
    cli("bundles", "a checkpoint is indexed", 1, "it is a checkpoint: `ranklet export`",
        "index", CHECKPOINT, COLLECTION, "-o", OUT),
]  # fmt: skip

MODELS = [
    model("the folder does not exist", "", lambda place: place.folder / "nothing"),
    model("the folder is empty", "", folder()),
    model("the settings are garbage", "", folder(config__json="{oops")),
    model("the settings are a list", "", folder(config__json="[]")),
    model("the network is unknown", "", folder(config__json='{"model_type": "t5000"}')),
    model("the weights are pickled", "",
          folder(config__json='{"model_type": "bert", "architectures": ["BertModel"]}',
                 pytorch_model__bin=b"\x80\x04.", tokenizer__json="{}")),
    model("a kind of model is unknown", "--as", folder(config__json="{}"), "--as", "magic",
          status=1),
    model("the checkpoint is garbage", "cannot be read", folder(ranklet__json="{oops"), status=1),
    model("the checkpoint's kind is unknown", "known are",
          folder(ranklet__json='{"format_version": 7, "kind": "bm42", "settings": {}}'), status=1),
    model("a bundle is exported", "is a bundle, whose models are exported already", BUNDLE),
    cli("models", "texts are trained on", 1, "", "train", "bm25", file("x.csv", "text\nx\n"),
           "-o", OUT),
    cli("models", "two rankers have one name", 1, "two rankers",
        "export", CHECKPOINT, CHECKPOINT, "-o", OUT),
    cli("models", "a file is given as a model", 2, "",
        "build", COLLECTION, "--skip-bad", "-o", OUT, "--model", file("model.bin", b"x")),
]  # fmt: skip
