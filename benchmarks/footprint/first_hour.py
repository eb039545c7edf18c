"""A newcomer's first hour, step by step: from a clone to a hit, a hybrid, an export, a function."""

import csv
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.harness.contest import environment
from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.processes import ONE_THREAD
from benchmarks.harness.report import table
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("torch", "onnxruntime")
COLLECTION, FEW, MANY = "qa-mix", 100, 5_000
QUESTION = "how do cats sleep?"
LEARNED, MINUTES = "scifact", 3
PEERS = ("torch==2.13.0", "fastembed", "sentence-transformers[onnx]")  # that open the export

LIBRARIES = {
    "onnxruntime": """
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
read = tokenizer.encode(text)
session = onnxruntime.InferenceSession(folder + "/onnx/model_int8.onnx")
names = {each.name for each in session.get_inputs()}
given = {"input_ids": read.ids, "attention_mask": read.attention_mask}
given["token_type_ids"] = read.type_ids
(states, *_) = session.run(None, {k: np.array([v]) for k, v in given.items() if k in names})
size = states.shape[-1]
""",
    "FastEmbed": """
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
TextEmbedding.add_custom_model(model="local/minilm", pooling=PoolingType.MEAN, normalization=True,
    sources=ModelSource(hf="local/minilm"), dim=384, model_file="onnx/model_int8.onnx")
(vector,) = TextEmbedding("local/minilm", specific_model_path=folder).embed([text])
size = len(vector)
""",
    "sentence-transformers": """
from sentence_transformers import SentenceTransformer
graph = {"file_name": "onnx/model_int8.onnx"}
model = SentenceTransformer(folder, backend="onnx", model_kwargs=graph)
size = len(model.encode(text))
""",
}


class Step(NamedTuple):
    """A step that was timed."""

    name: str
    wall: float  # seconds
    processor: float  # seconds of user and system, of all processes


def run(place: Place) -> str:
    """Take every step in an empty folder, each in processes of its own."""
    folder = place.work / "first-hour"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    steps = [*_words(place, folder), *_hybrids(place, folder), *_exports(place, folder)]
    steps += [*_functions(folder), _learning(place, folder)]
    rows = [[each.name, f"{each.wall:.1f}", f"{each.processor:.1f}"] for each in steps]
    return f"""
From a clone of this commit, without anything kept from before; packages come from a registry's \
cache nearby. Texts are of {COLLECTION}, the model is MiniLM-L6, and `learn` has {MINUTES} minutes \
on {LEARNED}.

{table(["step", "wall, s", "processor, s"], rows)}
"""


def _words(place: Place, folder: Path) -> list[Step]:
    """Clone, install without extras, build a CSV and search it."""
    clone, python = folder / "clone", folder / "venv/bin/python"
    texts = _texts(place, folder, FEW)

    def install() -> None:
        _call(folder, ["git", "clone", "--quiet", str(ROOT), str(clone)])
        _call(folder, [sys.executable, "-m", "venv", str(folder / "venv")])
        _call(folder, [str(python), "-m", "pip", "install", "--quiet", str(clone)])

    def search() -> None:
        command = [str(python), "-m", "ranklet"]
        _call(folder, [*command, "build", str(texts), "-o", "words.ranklet"])
        _call(folder, [*command, "rank", "words.ranklet", QUESTION])

    return [_timed("clone and install", install), _timed(f"a CSV of {FEW} texts, one hit", search)]


def _hybrids(place: Place, folder: Path) -> list[Step]:
    steps = []
    for count in (FEW, MANY):
        texts = _texts(place, folder, count)
        # Every size begins without a kept export.
        environment = {"RANKLET_CACHE": str(folder / f"cache-{count}")}
        for turn in ("first", "second"):
            target = f"hybrid-{count}-{turn}.ranklet"
            build = ["build", str(texts), "--model", str(wheel_folder()), "-o", target]

            search = partial(_built_and_asked, folder, build, target, environment)
            steps.append(_timed(f"a hybrid of {count:,} texts, {turn} time", search))
    return steps


def _built_and_asked(
    folder: Path, build: Sequence[str], target: str, environment: dict[str, str]
) -> None:
    _ranklet(folder, build, environment)
    _ranklet(folder, ["rank", target, QUESTION], environment)


def _exports(place: Place, folder: Path) -> list[Step]:
    peers = str(environment(place, "first-hour-peers", PEERS))

    def export() -> None:
        command = ["export", str(wheel_folder()), "--layout", "hub", "-o", "minilm"]
        _ranklet(folder, command, {"RANKLET_CACHE": str(folder / "cache-export")})

    steps = [_timed("export-onnx of a model", export)]
    for name, code in LIBRARIES.items():
        begin = f"folder, text = {str(folder / 'minilm')!r}, {QUESTION!r}\n"
        checked = f"{begin}{code}\nassert size == 384, size"

        def load(checked: str = checked) -> None:
            _call(folder, [peers, "-c", checked])

        steps.append(_timed(f"the export in {name}", load))
    return steps


def _functions(folder: Path) -> list[Step]:
    script = ROOT / "infra/lambda/build-zip.sh"
    return [
        _timed(f"a Lambda zip, {what}", partial(_call, folder, ["bash", str(script), what]))
        for what in ("words", "hybrid")
    ]


def _learning(place: Place, folder: Path) -> Step:
    def learn() -> None:
        data = str(place.data / LEARNED)
        _ranklet(folder, ["build", f"{data}/corpus.jsonl.gz", "-o", "learn-from.ranklet"])
        command = ["learn", "learn-from.ranklet", data, "-o", "learned.ranklet"]
        _ranklet(folder, [*command, "--minutes", str(MINUTES), "--lexical"], status=(0, 3))

    return _timed(f"build and `learn --lexical --minutes {MINUTES}` on {LEARNED}", learn)


def _texts(place: Place, folder: Path, count: int) -> Path:
    path = folder / f"{count}.csv"
    if not path.exists():
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "title", "text"])
            documents = place.collection(COLLECTION).documents()
            for _, each in zip(range(count), documents, strict=False):
                writer.writerow([each.id, each.title, each.text])
    return path


def _timed(name: str, step: Callable[[], None]) -> Step:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    step()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    made = Step(name, perf_counter() - begin, processor)
    print(f"{made.name}: {made.wall:.1f} s, {made.processor:.1f} s of processor", file=sys.stderr)
    return made


def _ranklet(
    folder: Path,
    arguments: Sequence[str],
    environment: dict[str, str] | None = None,
    status: Sequence[int] = (0,),
) -> None:
    _call(folder, [sys.executable, "-m", "ranklet", *arguments], environment, status)


def _call(
    folder: Path,
    command: Sequence[str],
    environment: dict[str, str] | None = None,
    status: Sequence[int] = (0,),
) -> None:
    # A newcomer's processes have all processors, so what this one was given is not passed on.
    kept = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    own = {"HOME": str(folder), "HF_HUB_OFFLINE": "1", "ORT_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [*command], cwd=folder, env={**kept, **own, **(environment or {})},
        stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if done.returncode not in status:
        raise subprocess.CalledProcessError(done.returncode, list(command))
