"""The folder that others read has the original's vectors and scores, whatever the architecture."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tests.classifiers import classifier_folder
from tests.kinds import TinyRankers
from tests.models import (
    TEXTS,
    probes,
    router_folder,
    sentence_folder,
    sentence_transformers,
    tokenizer,
    transformer_folder,
)
from tests.training.rankers.colbert.test_importing import module_folder
from tests.training.rankers.splade.test_importing import sparse_folder
from tokenizers import Tokenizer

from ranklet.corpus.errors import BuildError
from ranklet.export.hub.folder import export_hub
from ranklet.export.hub.verifying import verify_hub
from ranklet.export.options import ExportOptions
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.folder import PROOF
from ranklet.training.imported.importing import read_model

FP32 = ExportOptions(variants=("fp32",), probes=probes())


def written(folder: Path, scratch: Path, options: ExportOptions = FP32) -> Path:
    export_hub(read_model(folder), folder, scratch / "hub", options, name="model")
    return scratch / "hub"


def outputs(folder: Path, *texts: Any) -> tuple[Any, Any]:
    """Return what plain onnxruntime makes of a text or a pair, and the names of the output."""
    read = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(str(folder / "onnx" / "model.onnx"))
    found = read.encode(*texts)
    limit = json.loads((folder / "tokenizer_config.json").read_text())["model_max_length"]
    ids = found.ids if len(found.ids) <= limit else [*found.ids[: limit - 1], found.ids[-1]]
    types = found.type_ids[: len(ids)]
    every = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types}
    names = [each.name for each in session.get_inputs()]
    feeds = {name: np.array([every[name]], np.int64) for name in names}
    (output,) = session.get_outputs()
    return session.run(None, feeds)[0][0], output.name


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bert", "roberta", "modernbert", "gemma3"])
def test_states_make_the_vectors_of_the_original(architecture: str, tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", architecture=architecture)
    theirs = sentence_transformers().SentenceTransformer(str(folder), device="cpu")
    hub = written(folder, tmp_path)
    for text, expected in zip(TEXTS, theirs.encode(list(TEXTS), batch_size=1), strict=True):
        states, name = outputs(hub, text)
        assert name == "last_hidden_state"
        vector = states.mean(0)
        cosine = vector @ expected / np.linalg.norm(vector) / np.linalg.norm(expected)
        assert cosine > 0.9999


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["bert", "deberta-v2"])
def test_logits_are_those_of_the_classifier(architecture: str, tmp_path: Path) -> None:
    folder = classifier_folder(tmp_path / "judge", architecture, num_labels=1)
    library = sentence_transformers()
    theirs = library.CrossEncoder(str(folder), device="cpu")
    hub = written(folder, tmp_path)
    pairs = [(TEXTS[4], TEXTS[1]), (TEXTS[3], TEXTS[5])]
    expected = theirs.predict(pairs, activation_fn=__import__("torch").nn.Identity())
    for pair, score in zip(pairs, expected, strict=True):
        logits, name = outputs(hub, *pair)
        assert name == "logits"
        assert logits[0] == pytest.approx(float(score), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "name"), [(sparse_folder, "logits"), (module_folder, "token_embeddings")]
)
def test_other_kinds_have_the_outputs_that_are_pooled(
    make: Callable[[Path], Path], name: str, tmp_path: Path
) -> None:
    folder = make(tmp_path / "model")
    hub = written(folder, tmp_path)
    assert outputs(hub, TEXTS[1])[1] == name
    checkpoint = replace(read_model(folder), probes=probes())
    (report,) = verify_hub(hub, checkpoint)
    assert (report.variant, report.refused) == ("fp32", "")


@pytest.mark.slow
def test_the_folder_has_what_others_open_and_its_proof(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", prompts={"query": "", "document": "text: "})
    (tmp_path / "secret.json").write_text("{}")
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Old\n")
    hub = written(folder, tmp_path, replace(FP32, variants=("fp32", "fp16", "int8")))
    names = {path.relative_to(hub).as_posix() for path in hub.rglob("*") if path.is_file()}
    assert names >= {
        "onnx/model.onnx", "onnx/model_fp16.onnx", "onnx/model_int8.onnx", "config.json",
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "modules.json",
        "1_Pooling/config.json", PROOF,
    }  # fmt: skip
    assert not any(name.endswith(".safetensors") for name in names)
    assert "link.json" not in names
    card = (hub / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\ntags: [onnx, transformers.js]\n")
    for words in (
        "| int8, onnx/model_int8.onnx |",
        "PoolingType.MEAN",
        '"text: a text"',
        'The prompt of a query is `""`, and that of a document is `"text: "`.',
        "# model",
    ):
        assert words in card
    special = json.loads((hub / "special_tokens_map.json").read_text())
    assert special["cls_token"] == tokenizer("words").cls_token


@pytest.mark.slow
def test_each_way_of_a_card_gives_the_vector_that_the_model_gives(tmp_path: Path) -> None:
    prompt = 'They "say" \\ {x}: \n'
    folder = sentence_folder(
        tmp_path / "model", prompts={"query": "", "document": prompt}, truncate_dim=6
    )
    theirs = sentence_transformers().SentenceTransformer(str(folder), device="cpu")
    expected = theirs.encode_document(["a text", "another text, which is longer"])
    hub = written(folder, tmp_path)
    direct, fastembed, script = re.findall(
        r"```\w+\n(?!# pip)(.*?)```", (hub / "README.md").read_text(), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(direct.replace("FOLDER", str(hub)), names)  # noqa: S102, our own card
    unit = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(names["vectors"], unit, atol=1e-4)
    first = '"They \\"say\\" \\\\ {x}: \\na text"'
    text = f"{first}, {first.replace('a text', 'another text, which is longer')}"
    assert " dim=32,\n" in fastembed
    assert f".embed([{text}]))\nvectors = [each[:6] for each in vectors]\n" in fastembed
    assert f'encode([{text}], {{ pooling: "mean" }});' in script
    assert "pooled.slice(null, [0, 6]).normalize(2, -1);" in script


@pytest.mark.slow
def test_a_trained_encoder_is_a_model_of_sentence_transformers(
    tmp_path: Path, tiny: TinyRankers
) -> None:
    checkpoint = tiny.checkpoint("dense")
    export_hub(checkpoint, None, tmp_path / "hub", FP32, name="own")
    states, _ = outputs(tmp_path / "hub", "a quiet stream")
    assert json.loads((tmp_path / "hub" / "1_Pooling" / "config.json").read_text()) == {
        "word_embedding_dimension": checkpoint.settings.dimension, "pooling_mode_mean_tokens": True
    }  # fmt: skip
    assert states.shape[1] == checkpoint.settings.dimension


@pytest.mark.slow
@pytest.mark.parametrize("trained", [True, False])
def test_layers_after_the_pooling_are_written_for_sentence_transformers(
    trained: bool, tmp_path: Path
) -> None:
    library = sentence_transformers()
    folder = sentence_folder(
        tmp_path / "model", after=lambda m: [m.Dense(32, 12), m.LayerNorm(12), m.Normalize()]
    )
    hub, checkpoint = tmp_path / "hub", read_model(folder)
    export_hub(checkpoint, None if trained else folder, hub, FP32, name="own")
    assert "FastEmbed" not in (hub / "README.md").read_text()
    shutil.copy(folder / "model.safetensors", hub)  # of the transformer, which others need not have
    ours, theirs = (
        library.SentenceTransformer(str(each), device="cpu").encode(list(TEXTS))
        for each in (hub, folder)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("queries", ["leaf", "static"])
def test_each_side_of_a_router_has_its_graph(queries: str, tmp_path: Path) -> None:
    folder = router_folder(tmp_path, queries)
    hub = written(folder, tmp_path)
    (report,) = verify_hub(hub, replace(read_model(folder), probes=probes()))
    assert not report.refused
    model = sentence_transformers().SentenceTransformer(str(folder), device="cpu")
    routes = model[0].sub_modules
    for side in ("document",) if queries == "static" else ("document", "query"):
        theirs = routes[side][0](model.preprocess(["a red cat"], task=side))
        ours, name = outputs(hub / f"{side}_0_Transformer", "a red cat")
        expected = theirs["token_embeddings"][0].detach().numpy()
        np.testing.assert_allclose(ours, expected, atol=1e-4)
        assert name == "last_hidden_state"
    graphs = ("document", "query")[: 1 + (queries == "leaf")]
    assert {path.parts[-3] for path in hub.rglob("*.onnx")} == {
        f"{g}_0_Transformer" for g in graphs
    }
    weights = {path.parent.name for path in hub.rglob("*.safetensors")}
    assert weights == {{"leaf": "query_2_Dense", "static": "query_0_StaticEmbedding"}[queries]}


@pytest.mark.slow
def test_prompts_that_were_chosen_replace_the_originals(tmp_path: Path) -> None:
    folder = sentence_folder(tmp_path / "model", prompts={"query": "old: ", "passage": "p: "})
    checkpoint = read_model(folder, query_prompt="new: ")
    export_hub(checkpoint, folder, tmp_path / "hub", FP32, name="own")
    said = json.loads((tmp_path / "hub" / "config_sentence_transformers.json").read_text())
    assert said["prompts"]["query"] == "new: "
    assert said["prompts"]["passage"] == "p: "
    assert said["model_type"] == "SentenceTransformer"


@pytest.mark.slow
def test_what_others_cannot_run_is_said(tmp_path: Path, tiny: TinyRankers) -> None:
    for kind in ("epic", "srm"):
        with pytest.raises(BuildError, match="without --layout hub"):
            export_hub(tiny.checkpoint(kind), None, tmp_path / "hub", FP32, name="own")
    trained = tiny.checkpoint("cross_encoder")
    with pytest.raises(BuildError, match="which no other library knows"):
        export_hub(trained, None, tmp_path / "hub", FP32, name="own")
    assert not (tmp_path / "hub").exists()


@pytest.mark.slow
def test_only_an_export_is_replaced(tmp_path: Path) -> None:
    folder = transformer_folder(tmp_path / "model")
    checkpoint: Checkpoint = read_model(folder)

    def export(**more: Any) -> None:
        export_hub(checkpoint, folder, tmp_path / "hub", FP32, name="model", **more)

    export()
    with pytest.raises(BuildError, match="--force"):
        export()
    export(overwrite=True)
    (tmp_path / "hub" / "mine.txt").write_text("mine")
    with pytest.raises(BuildError, match=r"mine\.txt"):
        export(overwrite=True)
    (tmp_path / "hub" / PROOF).unlink()
    with pytest.raises(BuildError, match="is no export for others"):
        export(overwrite=True)
    assert (tmp_path / "hub" / "mine.txt").read_text() == "mine"


FASTEMBED = """
import json, sys
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
folder, *texts = sys.argv[1:]
TextEmbedding.add_custom_model(
    model="own/model", pooling=PoolingType.MEAN, normalization=True, dim=32,
    sources=ModelSource(hf="own/model"), model_file="onnx/model.onnx")
encoder = TextEmbedding("own/model", specific_model_path=folder)
print(json.dumps([vector.tolist() for vector in encoder.embed(texts)]))
"""
TRANSFORMERS_JS = """
const { env, pipeline } = require("@huggingface/transformers");
const [folder, ...texts] = process.argv.slice(1);
env.allowRemoteModels = false;
env.localModelPath = folder.slice(0, folder.lastIndexOf("/") + 1);
(async () => {
  const name = folder.slice(folder.lastIndexOf("/") + 1);
  const encode = await pipeline("feature-extraction", name, { dtype: "fp32" });
  const found = await encode(texts, { pooling: "mean", normalize: true });
  console.log(JSON.stringify(found.tolist()));
})();
"""


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("client", ["fastembed", "transformers.js"])
@pytest.mark.parametrize("architecture", ["bert", "roberta", "mpnet"])
def test_other_libraries_make_the_same_vectors(
    client: str, architecture: str, tmp_path: Path
) -> None:
    node, script = shutil.which("node"), "require.resolve('@huggingface/transformers')"
    if client == "fastembed":
        pytest.importorskip("fastembed")
        command = [sys.executable, "-c", FASTEMBED]
    elif node is None or subprocess.run([node, "-e", script], capture_output=True).returncode:
        pytest.skip("node has no @huggingface/transformers (npm, NODE_PATH)")
    else:
        command = [node, "-e", TRANSFORMERS_JS]
    folder = sentence_folder(tmp_path / "model", architecture=architecture)
    theirs = sentence_transformers().SentenceTransformer(str(folder), device="cpu")
    # No text is cut, because transformers.js then leaves out the last special token.
    hub, texts = written(folder, tmp_path), [TEXTS[1], TEXTS[3], "an apple"]
    done = subprocess.run([*command, str(hub), *texts], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = np.array(json.loads(done.stdout.splitlines()[-1]))
    expected = theirs.encode(texts, normalize_embeddings=True, batch_size=1)
    assert (found * expected).sum(1).min() > 0.9999
