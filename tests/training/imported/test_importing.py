"""A folder is recognised by its files, and one that cannot be used gives one clear line."""

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file
from tests.models import transformer_folder

from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.importing import read_model, recognise

LIBRARY = "sentence_transformers.models"
ENCODER = [
    {"type": f"{LIBRARY}.Transformer", "path": "", "name": "0"},
    {"type": f"{LIBRARY}.Pooling", "path": "1_Pooling", "name": "1"},
]
BOW = f"{LIBRARY}.BoW"
MEAN = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}


def write(path: Path, content: Any) -> None:
    """Write a JSON file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


def modules_of(folder: Path, *more: dict[str, str], **pooling: Any) -> None:
    """Make a folder of transformers one of sentence-transformers."""
    write(folder / "modules.json", [*ENCODER, *({**each, "name": "2"} for each in more)])
    write(folder / "1_Pooling" / "config.json", {**MEAN, **pooling})


def add_dense(folder: Path, rows: int = 32, out: int = 4, **config: Any) -> None:
    """Add a Dense module."""
    import numpy as np

    modules_of(folder, {"type": f"{LIBRARY}.Dense", "path": "2_Dense"})
    known = {"in_features": 32, "out_features": out, "activation_function": "torch.nn.Tanh"}
    write(folder / "2_Dense" / "config.json", {**known, **config})
    weights = {
        "linear.weight": np.ones((out, rows), np.float32), "linear.bias": np.zeros(out, np.float32)
    }  # fmt: skip
    save_file(weights, folder / "2_Dense" / "model.safetensors")


def change(folder: Path, file: str = "config.json", **values: Any) -> None:
    """Change values of a JSON file."""
    write(folder / file, {**json.loads((folder / file).read_text()), **values})


def only_pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def spoil_weights(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.0.output.dense.bias"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def drop_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights.pop("encoder.layer.0.output.dense.weight")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def begin_with_words(folder: Path) -> None:
    drop_tokenizer(folder)
    write(folder / "modules.json", [{**ENCODER[0], "type": BOW}])


def drop_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


# What is done to a folder of a tiny BERT, and what the message says.
UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "no config.json and no modules.json"),
    "a config of something else": (
        lambda f: write(f / "config.json", {"model_type": "vinyl"}),
        "cannot be loaded: .*vinyl",
    ),
    "a config that is no JSON": (
        lambda f: (f / "config.json").write_text("{"), "config.json' cannot be read: Expecting"
    ),
    "no weights": (
        lambda f: (f / "model.safetensors").unlink(), "no model.safetensors; its weights are"
    ),
    "weights of pickle": (only_pickled, "only in pytorch_model.bin, a pickle file, .* is never"),
    "truncated weights": (cut_weights, "model.safetensors' is damaged or truncated"),
    "a weight is missing": (drop_weight, "lacks the weights of 1 part.* such as 'encoder.layer.0"),
    "weights of another size": (
        lambda f: change(f, intermediate_size=48), "of the shape .* asks for"
    ),
    "no tokenizer": (drop_tokenizer, "has no tokenizer"),
    "no transformer": (
        begin_with_words,
        "begins with a BoW and has no tokenizer",
    ),
    "a damaged tokenizer": (
        lambda f: (f / "tokenizer.json").write_text("{"), "tokenizer.json' cannot be read: Exp"
    ),
    "a generative model": (
        lambda f: change(f, architectures=["GPT2LMHeadModel"], model_type="gpt2"),
        "is a GPT2LMHeadModel, which generates texts",
    ),
    "a language model": (
        lambda f: change(f, architectures=["BertForMaskedLM"]), "is a BertForMaskedLM, which may"
    ),
    "code of its own": (
        lambda f: change(f, auto_map={"AutoModel": "modeling.Own"}), "code of its own .auto_map."
    ),
    "an adapter": (
        lambda f: write(f / "adapter_config.json", {}), "an adapter of another model"
    ),
    "an unknown module": (
        lambda f: modules_of(f, {"type": f"{LIBRARY}.WordWeights2", "path": "2"}),
        "cannot be loaded: .*WordWeights2",
    ),
    "no pooling": (
        lambda f: write(
            f / "modules.json", [ENCODER[0], {**ENCODER[1], "type": f"{LIBRARY}.Normalize"}]
        ),
        "ends in a BertModel, which makes no sentence_embedding",
    ),
    "a module of its own": (
        lambda f: modules_of(f, {"type": "custom_st.Head", "path": "2"}),
        "code of its own .custom_st.Head., which is never run",
    ),
    "a module that one of the library imports": (
        lambda f: modules_of(f, {"type": "sentence_transformers.base.model.pickle", "path": "2"}),
        "code of its own .sentence_transformers.base.model.pickle., which is never run",
    ),
    "a module outside": (
        lambda f: modules_of(f, {"type": f"{LIBRARY}.Dense", "path": "../other"}),
        "'../other' is outside of the folder",
    ),
    "a module at an absolute path": (
        lambda f: modules_of(f, {"type": f"{LIBRARY}.Dense", "path": "/etc"}),
        "'/etc' is outside of the folder",
    ),
    "a module without a type": (
        lambda f: write(f / "modules.json", [{"path": ""}]), "{'path': ''} is no module"
    ),
    "modules that are no list": (
        lambda f: write(f / "modules.json", {"type": 1}), "modules.json' must contain an array"
    ),
    "a layer of another size": (
        lambda f: add_dense(f, rows=8), "cannot be loaded: .*Dense"
    ),
    "a module that fails": (
        lambda f: modules_of(f, {"type": f"{LIBRARY}.LSTM", "path": "2"}),
        "cannot be loaded: .*LSTM|has a LSTM",
    ),
    "an activation of its own": (
        lambda f: add_dense(f, activation_function="evil.Tanh"), "code of its own .evil.Tanh."
    ),
    "weights that are not a number": (spoil_weights, "no finite numbers .* of 'encoder"),
    "an unknown similarity": (
        lambda f: (
            modules_of(f),  # type: ignore[func-returns-value]
            write(f / "config_sentence_transformers.json", {"similarity_fn_name": "manhattan"}),  # type: ignore[func-returns-value]
        ),
        "compares vectors by 'manhattan'; supported are cosine and dot",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny BERT, which tests copy."""
    return transformer_folder(tmp_path_factory.mktemp("bert") / "model")


@pytest.fixture
def copied(bert: Path, tmp_path: Path) -> Path:
    """A folder that a test may change."""
    import shutil

    return Path(shutil.copytree(bert, tmp_path / "model"))


@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_unusable_folder_gives_one_clear_line(fault: str, copied: Path) -> None:
    damage, message = UNUSABLE[fault]
    damage(copied)
    with pytest.raises(ModelFolderError, match=message) as caught:
        read_model(copied)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_files_that_no_library_reads_may_contain_anything(copied: Path) -> None:
    write(copied / "data_config.json", [{"name": "a collection"}])
    (copied / "data.json").write_text("{}\n{}\n")
    assert read_model(copied).kind == "dense"


def test_a_folder_that_is_none_is_named() -> None:
    with pytest.raises(ModelFolderError, match="no folder 'nowhere'; give the folder of a model"):
        read_model("nowhere")


class Harm:
    """What an attacker would pickle."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, ("raise SystemExit('a pickle file was loaded')",)


PICKLED = (
    "pytorch_model.bin", "model.bin", "training_args.bin", "optimizer.pt", "heads.pt",
    "2_Dense/pytorch_model.bin", "tokenizer.pkl",
)  # fmt: skip
opened: list[str] = []
watched = False


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note which files Python opens; a hook stays, so it does nothing while it is not needed."""
    if watched and event == "open":
        opened.append(str(arguments[0]))


@pytest.mark.parametrize("safe", [True, False])
def test_no_pickle_file_is_ever_opened(
    safe: bool, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_dense(copied)
    for name in PICKLED:
        (copied / name).write_bytes(pickle.dumps(Harm()))
    if not safe:
        for path in copied.rglob("*.safetensors"):
            path.unlink()
    sys.addaudithook(watch)
    monkeypatch.setattr(sys.modules[__name__], "watched", True)
    opened.clear()
    if safe:
        assert read_model(copied).settings.dimension == 4
    else:
        with pytest.raises(ModelFolderError, match="pickle file"):
            read_model(copied)
    names = [Path(name).name for name in opened if Path(name).is_relative_to(copied)]
    assert "config.json" in names  # so that the hook sees what is opened
    assert not {Path(name).name for name in PICKLED} & set(names)


RECOGNISED: dict[str, tuple[dict[str, Any], str]] = {
    "plain": ({"config.json": {"architectures": ["BertModel"], "model_type": "bert"}}, "dense"),
    "sentence": ({"modules.json": ENCODER}, "dense"),
    "static": (
        {"modules.json": [{"type": f"{LIBRARY}.StaticEmbedding", "path": ""}]}, "static"
    ),
    "model2vec": ({"config.json": {"architectures": ["StaticModel"]}}, "static"),
    "cross-encoder": (
        {"config.json": {"architectures": ["BertForSequenceClassification"]}}, "cross_encoder"
    ),
    "cross-encoder of modules": (
        {
            "config_sentence_transformers.json": {"model_type": "CrossEncoder"},
            "modules.json": ENCODER[:1], "config.json": {},
        },
        "cross_encoder",
    ),
    "splade of modules": (
        {
            "modules.json": [ENCODER[0], {"type": f"{LIBRARY}.SpladePooling", "path": "1"}],
            "config.json": {},
        },
        "splade",
    ),
    "colbert of colbert-ir": ({"config.json": {"architectures": ["HF_ColBERT"]}}, "colbert"),
    "colbert of pylate": (
        {
            "config_sentence_transformers.json": {"model_type": "ColBERT"},
            "modules.json": [ENCODER[0], {"type": "pylate.models.Dense.Dense", "path": "1"}],
        },
        "colbert",
    ),
    "colbert of sentence-transformers": (
        {
            "config_sentence_transformers.json": {"model_type": "MultiVectorEncoder"},
            "modules.json": ENCODER[:1],
        },
        "colbert",
    ),
    "epic of OpenNIR": ({"config.json": {}, "ranker.json": {"": "epic"}}, "epic"),
    "conformer-kernel": ({"config.json": {"model": "ndrm3"}}, "ndrm"),
    "neural-sparse-doc": (
        {"config.json": {"architectures": ["BertForMaskedLM"]}, "idf.json": {"a": 1.0}}, "splade"
    ),
    "naver-splade-v3": ({"config.json": {"architectures": ["BertForMaskedLM"]}}, "splade"),
}  # fmt: skip


@pytest.mark.parametrize("name", RECOGNISED)
def test_what_a_folder_contains_is_recognised(name: str, tmp_path: Path) -> None:
    files, expected = RECOGNISED[name]
    for file, content in files.items():
        write(tmp_path / name / file, content)
    assert recognise(ModelFolder(tmp_path / name)).name == expected


def test_an_option_that_the_model_does_not_have_is_refused(copied: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a dense encoder, which has no label to choose"):
        read_model(copied, label="relevant")
    change(copied, architectures=["BertForSequenceClassification"])
    with pytest.raises(InputError, match="is a cross-encoder, which has no dimension"):
        read_model(copied, dimension=3)
    write(tmp_path / "own" / "ranklet.json", {})
    with pytest.raises(InputError, match="for models of other libraries only"):
        read_model(tmp_path / "own", kind="dense")
