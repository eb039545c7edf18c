"""How long it takes from a CSV file to the first answer, next to bm25s, FastEmbed and txtai.

Each contender is a fresh process that reads 10,000 passages, makes its index and answers one
question, as somebody does who tries it. Imports count.
"""

import csv
import json
import os
import subprocess
from pathlib import Path
from statistics import median

from benchmarks.harness.contest import peer_python
from benchmarks.harness.place import ROOT, Place
from benchmarks.harness.report import table
from ranklet.training.pretrained.backbone import wheel_folder

PACKAGES = ("onnxruntime",)
COLLECTION, PASSAGES = "google-wiki", 10_000
QUESTION = "who is the main antagonist of the series?"
ROUNDS = 3  # of contenders without a model; the others take minutes, and run once

BEGIN = """
import json, sys, time
begin = time.perf_counter()
file, model, work, question = sys.argv[1:]
"""
END = """
print(json.dumps([time.perf_counter() - begin, str(answer)[:60]]))
"""
READ = """
import csv
with open(file, newline="") as lines:
    texts = [row["text"] for row in csv.DictReader(lines)]
"""
LEXICAL = {
    "ranklet build": """
import ranklet
from ranklet.corpus.sources.options import SourceOptions
ranklet.build(file, work + "/lexical.ranklet", options=SourceOptions(passage_words=0),
              overwrite=True)
answer = ranklet.rank(question, bundle=work + "/lexical.ranklet")[0].text
""",
    "bm25s": READ
    + """
import bm25s
index = bm25s.BM25()
index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
found, _ = index.retrieve(bm25s.tokenize([question], stopwords="en", show_progress=False), k=10,
                          show_progress=False)
answer = texts[int(found[0, 0])]
""",
}
NEURAL = {
    "ranklet build --model, int8": """
import ranklet
from ranklet.export.options import ExportOptions
from ranklet.corpus.sources.options import SourceOptions
ranklet.build(file, work + "/neural.ranklet", models=[model], overwrite=True,
              options=SourceOptions(passage_words=0), export=ExportOptions(variants=("int8",)))
answer = ranklet.rank(question, bundle=work + "/neural.ranklet")[0].text
""",
    "FastEmbed (fp32) and numpy": READ
    + """
import numpy as np
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
TextEmbedding.add_custom_model(model="local/minilm", pooling=PoolingType.MEAN, normalization=True,
    sources=ModelSource(hf="local/minilm"), dim=384, model_file="onnx/model.onnx")
encoder = TextEmbedding("local/minilm", specific_model_path=work + "/minilm.peers")
vectors = np.array(list(encoder.embed(texts)))
answer = texts[int(np.argmax(vectors @ next(iter(encoder.embed([question])))))]
""",
    "txtai (PyTorch)": READ
    + """
from txtai import Embeddings
embeddings = Embeddings(path=model, content=True)
embeddings.index(texts)
answer = embeddings.search(question, 10)[0]["text"]
""",
}


def run(place: Place) -> str:
    """Time every contender."""
    file = place.keep("first_answer.csv", lambda path: _write(place, path), ("benchmarks",))
    python = peer_python(place)
    _export_for_fastembed(python, place)
    rows = []
    for name, code in {**LEXICAL, **NEURAL}.items():
        runs = [_timed(python, code, file, place) for _ in range(ROUNDS if name in LEXICAL else 1)]
        rows.append([name, f"{median(seconds for seconds, _ in runs):.1f}", runs[0][1]])
    return f"""
{PASSAGES:,} passages of {COLLECTION} in a CSV file, {os.cpu_count()} cores, in the peers' \
environment; seconds from the start of Python's work to the first answer, imports included; \
median of {ROUNDS} processes without a model, one process with MiniLM.

{table(["", "seconds", "first answer"], rows)}

- ranklet verifies the model on the passages before it indexes them, and fuses it with BM25. \
FastEmbed and txtai search by vectors alone.
- FastEmbed runs the fp32 file that sentence-transformers exported, because nothing can be fetched \
from a model hub; txtai runs the folder of the model.
"""


def _timed(python: Path, code: str, file: Path, place: Place) -> tuple[float, str]:
    done = subprocess.run(
        [
            str(python),
            "-c",
            BEGIN + code + END,
            str(file),
            str(wheel_folder()),
            str(place.work),
            QUESTION,
        ],
        env=_environment(place),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, answer = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), str(answer)


def _export_for_fastembed(python: Path, place: Place) -> None:
    """Let sentence-transformers export MiniLM as ONNX, if `encoding_speed` has not done so."""
    code = "import sys; from pathlib import Path; "
    code += "from benchmarks.speed.encoding_contest import sentence_transformers as export; "
    code += "export(sys.argv[1], Path(sys.argv[2]))"
    subprocess.run(
        [str(python), "-c", code, str(wheel_folder()), str(place.work / "minilm.peers")],
        env=_environment(place),
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _environment(place: Place) -> dict[str, str]:
    return {
        "PATH": os.defpath,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "HOME": str(place.work),
        "HF_HUB_OFFLINE": "1",
        "ORT_DISABLE_TELEMETRY": "1",
    }


def _write(place: Place, path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        documents = place.collection(COLLECTION).documents()
        for _, document in zip(range(PASSAGES), documents, strict=False):
            writer.writerow([document.id, document.text])
