"""Export saved models by optimum-onnx, in an environment that has it and not ranklet."""

import json
import re
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 1e-4
# What is compared, by the kind of a model.
OUTPUTS = {"dense": "sentence_embedding", "sparse": "sentence_embedding", "cross": "logits"}
OUTPUTS["late"] = "token_embeddings"
# What it is asked for, the first that does not fail; of a folder it does not find the task itself.
ASKED: dict[str, list[dict[str, Any]]] = {
    "dense": [{"task": "feature-extraction"}],
    "late": [
        {"task": "feature-extraction"},
        {"task": "feature-extraction", "library_name": "transformers"},
    ],
    "cross": [{"task": "text-classification", "library_name": "transformers"}],
    "answer": [{"task": "text-generation", "library_name": "transformers"}],
    "sparse": [
        {"task": "fill-mask", "library_name": "transformers"},
        {"task": "feature-extraction"},
    ],
}
# Names that the older libraries do not know, which are replaced in a copy of the folder.
NEWER = {
    "TokenizersBackend": "PreTrainedTokenizerFast",
    r"sentence_transformers\.(base|sentence_transformer)\.modules\.\w+\.": (
        "sentence_transformers.models."
    ),
}


def main() -> None:
    """Append a line per model, which says what came of it."""
    given, results = json.loads(sys.argv[1]), Path(sys.argv[2])
    lines = results.read_text().splitlines() if results.is_file() else []
    done = {json.loads(line)[0] for line in lines}
    for folder, known in given.items():
        if folder in done:
            continue
        said = try_export(folder, json.loads(Path(known).read_text()))
        with results.open("a") as file:
            file.write(json.dumps([folder, said]) + "\n")


def try_export(folder: str, known: dict[str, Any]) -> str:
    """Return what came of a model."""
    import onnxruntime

    main_export = import_module("optimum.exporters.onnx").main_export
    said = ""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        shutil.copytree(folder, source)
        for path in source.rglob("*.json"):
            text = path.read_text("utf-8")
            for newer, older in NEWER.items():
                text = re.sub(newer, older, text)
            path.write_text(text, "utf-8")
        config = source / "config.json"
        saved_as = config.read_text("utf-8") if config.is_file() else ""
        kind = "answer" if "ForCausalLM" in saved_as else known["kind"]
        kind = "dense" if kind == "sparse" and "ForMaskedLM" not in saved_as else kind
        for at, asked in enumerate(ASKED[kind]):
            target = Path(scratch) / str(at)
            try:
                main_export(str(source), target, do_validation=False, **asked)
                graphs = sorted(target.glob("*.onnx"))
                session = onnxruntime.InferenceSession(str(graphs[0]))
            except Exception as error:  # of any kind, of any library
                first = str(error).strip().splitlines() or [""]
                what = first[0].replace(str(source), "the folder")
                said = said or f"refused: {type(error).__name__}: {what:.60}"
                continue
            return compare(session, known)
    return said


def compare(session: Any, known: dict[str, Any]) -> str:
    """Return whether a graph makes what sentence-transformers makes."""
    kind, largest = known["kind"], 0.0
    wanted = {each.name for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    output = OUTPUTS[kind]
    if output not in names:
        return f"a part: {', '.join(names)}"
    for row in known["rows"]:
        inputs = {name: np.array(values) for name, values in row["inputs"].items()}
        for name in wanted - inputs.keys():
            inputs[name] = np.zeros_like(inputs["input_ids"])
        if "position_ids" in wanted:
            inputs["position_ids"] = np.arange(inputs["input_ids"].shape[1])[None]
        try:
            made = session.run([output], {name: inputs[name] for name in wanted})[0]
        except Exception as error:
            return f"wrong: {type(error).__name__} when it runs"
        theirs, ours = np.array(row["output"]), np.asarray(made).squeeze()
        if kind == "dense" and ours.shape != theirs.shape:
            ours = ours[..., : theirs.shape[-1]]  # of a Matryoshka model the begin
        if np.ndim(made) > 2 and ours.shape != theirs.shape:
            return f"a part: {output} of every token"
        if ours.shape != theirs.shape:
            return f"wrong: {ours.shape} in place of {theirs.shape}"
        largest = max(largest, float(np.abs(ours - theirs).max() / max(1, np.abs(theirs).max())))
    return f"{'equal' if largest <= LARGEST else 'wrong'}: {largest:.0e}"


if __name__ == "__main__":
    main()
