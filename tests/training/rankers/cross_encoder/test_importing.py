"""Cross-encoders of other libraries, compared with sentence-transformers' own scores."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.papers.text_scorer import text_scorer
from tests.classifiers import INPUTS, LOGITS, change_json, classifier_folder
from tests.models import CLASSIFIERS, TEXTS, sentence_transformers, transformer_folder
from tokenizers import Tokenizer

from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.runtime.text.marking import TERMS
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.importing import read_model
from ranklet.training.imported.original import LARGEST
from ranklet.training.rankers.cross_encoder.classifier import ACTIVATION, LABEL, SEGMENTS
from ranklet.training.rankers.cross_encoder.importing import difference as difference_of
from ranklet.training.rankers.cross_encoder.importing import import_model
from ranklet.training.rankers.cross_encoder.training import load_any

OLDER = "sbert_ce_default_activation_function"  # key in config.json before version 4
IDENTITY = "torch.nn.modules.linear.Identity"
FILE = "tokenizer.json"
KIND = {"model_type": "CrossEncoder"}
SIGMOID = {**KIND, "activation_fn": "torch.nn.modules.activation.Sigmoid"}
TRANSFORMER = {"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}
TASK = {
    "transformer_task": "sequence-classification",
    "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
    "module_output_name": "scores",
}
SCORES = {"path": "1", "type": "sentence_transformers.cross_encoder.modules.LogitScore"}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BERT with one label; a test may not change it."""
    return classifier_folder(tmp_path_factory.mktemp("saved") / "bert")


@pytest.fixture(scope="module")
def three_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BERT with three labels; a test may not change it."""
    names = {0: "contradiction", 1: "entailment", 2: "1"}
    folder = tmp_path_factory.mktemp("saved") / "nli"
    return classifier_folder(folder, num_labels=3, id2label=names)


@pytest.fixture
def changed(saved: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that copies the BERT, changes a JSON file of it, and returns the copy."""

    def change(name: str = "config.json", **values: Any) -> Path:
        folder = tmp_path / "copy"
        if not folder.exists():
            shutil.copytree(saved, folder)
        path = folder / name
        if name == "modules.json":
            modules = [
                {"idx": at, "name": str(at), **each} for at, each in enumerate(values["all"])
            ]
            path.write_text(json.dumps(modules))
            return folder
        change_json(path, **values)
        return folder

    return change


def difference(folder: Path, checkpoint: Checkpoint) -> float:
    sentence_transformers()
    return difference_of(ModelFolder(folder), checkpoint, TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", CLASSIFIERS)
def test_the_scores_are_those_of_sentence_transformers(architecture: str, tmp_path: Path) -> None:
    library = sentence_transformers()
    plain = classifier_folder(tmp_path / "plain", architecture, **LOGITS)
    checkpoint = read_model(plain)
    assert checkpoint.training["activation"] == "identity"
    assert difference(plain, checkpoint) <= LARGEST
    with_modules = tmp_path / "modules"
    library.CrossEncoder(str(plain), device="cpu").save_pretrained(str(with_modules))
    assert (with_modules / "modules.json").is_file()
    again = read_model(with_modules)
    assert again.settings == checkpoint.settings
    own = {name: checkpoint.network[name] for name in (LABEL, ACTIVATION, SEGMENTS)}
    assert own.items() <= again.network.items()
    assert difference(with_modules, again) <= LARGEST


@pytest.mark.slow
def test_a_checkpoint_of_it_is_transformers_own(saved: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    checkpoint = read_model(saved)
    folder = checkpoint.save(tmp_path / "checkpoint")
    whole = load_any(read_checkpoint(folder)).state_dict()
    theirs = AutoModelForSequenceClassification.from_pretrained(folder).state_dict()
    assert {f"encoder.{name}" for name in theirs} == whole.keys()
    assert all((whole[f"encoder.{name}"] == values).all() for name, values in theirs.items())


def test_queries_have_half_of_the_tokens_that_are_not_special(saved: Path, tmp_path: Path) -> None:
    settings = read_model(saved).settings
    assert (settings.max_tokens, settings.max_query_tokens) == (40, 18)
    assert (settings.head, settings.field) == ("imported", "")
    folder = classifier_folder(tmp_path / "roberta", "roberta")
    change_json(folder / "tokenizer_config.json", model_max_length=39)
    roberta = read_model(folder).settings
    assert (roberta.max_tokens, roberta.max_query_tokens) == (39, 17)


@pytest.mark.slow
def test_segments_are_read_only_where_they_were_trained(changed: Callable[..., Path]) -> None:
    folder = changed()
    assert read_model(folder).network[SEGMENTS] is True
    changed("tokenizer_config.json", model_input_names=INPUTS)
    checkpoint = read_model(folder)
    assert checkpoint.network[SEGMENTS] is False
    assert difference(folder, checkpoint) <= LARGEST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "activation"),
    [
        ({}, "sigmoid"),
        ({"config.json": LOGITS}, "identity"),
        ({"config.json": {OLDER: IDENTITY}}, "identity"),
        (
            {"config.json": LOGITS, "config_sentence_transformers.json": SIGMOID},
            "identity",  # because sentence-transformers reads its file only where there are modules
        ),
        (
            {
                "config.json": LOGITS,
                "config_sentence_transformers.json": SIGMOID,
                "modules.json": {"all": [TRANSFORMER]},
                "sentence_bert_config.json": TASK,
            },
            "sigmoid",
        ),
    ],
)
def test_the_activation_is_the_one_that_sentence_transformers_applies(
    changed: Callable[..., Path], files: dict[str, dict[str, Any]], activation: str
) -> None:
    folder = changed()
    for name, values in files.items():
        changed(name, **values)
    checkpoint = read_model(folder)
    assert checkpoint.training["activation"] == activation
    assert difference(folder, checkpoint) <= LARGEST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "number"), [("contradiction", 0), ("entailment", 1), ("1", 2), ("0", 0), ("2", 2)]
)
def test_a_label_is_chosen_by_name_or_else_by_number(
    three_labels: Path, label: str, number: int
) -> None:
    checkpoint = read_model(three_labels, label=label)
    assert checkpoint.network[LABEL] == number
    assert checkpoint.training["activation"] == "identity"
    assert difference(three_labels, checkpoint) <= LARGEST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (None, {}),
        ({0: "Irrelevant", 1: "Relevant"}, {}),
        ({0: "false", 1: "true"}, {OLDER: "torch.nn.modules.activation.Softmax"}),
    ],
)
def test_of_two_labels_the_second_is_the_probability_of_relevance(
    names: dict[int, str] | None, said: dict[str, str], tmp_path: Path
) -> None:
    more: dict[str, Any] = {} if names is None else {"id2label": names}
    folder = classifier_folder(tmp_path / "two", num_labels=2, **more)
    change_json(folder / "config.json", **said)
    checkpoint = read_model(folder)
    assert (checkpoint.network[LABEL], checkpoint.training["activation"]) == (1, "softmax")
    assert difference(folder, checkpoint) <= LARGEST


def test_two_labels_whose_names_do_not_say_which_need_a_choice(tmp_path: Path) -> None:
    for names in ({0: "relevant", 1: "irrelevant"}, {0: "wrong", 1: "right"}):
        folder = classifier_folder(tmp_path / names[0], num_labels=2, id2label=names)
        with pytest.raises(ModelFolderError, match=r"2 labels .*; pass --label"):
            read_model(folder)


def test_several_labels_need_a_choice(three_labels: Path, saved: Path) -> None:
    listed = r"0 'contradiction', 1 'entailment', 2 '1'"
    with pytest.raises(ModelFolderError, match=rf"3 labels \({listed}\); pass --label"):
        read_model(three_labels)
    with pytest.raises(InputError, match=f"no label 'neutral'; its labels are {listed}") as error:
        read_model(three_labels, label="neutral")
    assert not isinstance(error.value, ModelFolderError)
    with pytest.raises(InputError, match="no label '1'; its labels are 0 'LABEL_0'"):
        read_model(saved, label="1")


REFUSED: dict[str, tuple[dict[str, dict[str, Any]], str]] = {
    "prompt": (
        {
            "config_sentence_transformers.json": {
                **KIND, "prompts": {"q": "query: "}, "default_prompt_name": "q",
            },
            "modules.json": {"all": [TRANSFORMER]},
        },
        "the prompt 'query: ', which is supported for a cross-encoder with a chat template only",
    ),
    "modules": (
        {
            "config_sentence_transformers.json": KIND,
            "modules.json": {"all": [TRANSFORMER, SCORES]},
        },
        "has a LogitScore|cannot be loaded: ",
    ),
    "own code": ({"config.json": {"auto_map": {"AutoModel": "x.Y"}}}, "needs code of its own"),
    "labels": (
        {"config.json": {"id2label": {"0": "a", "1": "b"}, "label2id": {"a": 0, "b": 1}}},
        "belong to different models",
    ),
    "layers": ({"config.json": {"num_hidden_layers": 3}}, "lacks the weights of 16 parts"),
    "length": ({"tokenizer_config.json": {"model_max_length": 4}}, "cannot read pairs"),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line(
    changed: Callable[..., Path], fault: str
) -> None:
    files, message = REFUSED[fault]
    folder = changed()
    for name, values in files.items():
        changed(name, **values)
    with pytest.raises(ModelFolderError, match=message) as error:
        import_model(ModelFolder(folder))
    assert "\n" not in str(error.value)


def test_a_classifier_without_a_pooler_is_refused(changed: Callable[..., Path]) -> None:
    from safetensors.numpy import load_file, save_file

    path = changed() / "model.safetensors"
    weights = load_file(path)
    save_file({k: v for k, v in weights.items() if "pooler" not in k}, path, {"format": "pt"})
    with pytest.raises(ModelFolderError, match="lacks the weights of 2 parts"):
        import_model(ModelFolder(path.parent))


MARKERS = [f"[{chr(92) if at % 2 else ''}e{at // 2}]" for at in range(2 * TERMS)]


def published(folder: Path, *, precise: bool) -> Path:
    """Return a classifier as the author of the marks has published hers."""
    size = len(MARKERS) if precise else 0
    size += Tokenizer.from_file(str(classifier_folder(folder / "plain") / FILE)).get_vocab_size()
    classifier_folder(folder / "marked", num_labels=2, vocab_size=size)
    if precise:
        tokenizer = Tokenizer.from_file(str(folder / "marked" / FILE))
        tokenizer.add_tokens(MARKERS)
        tokenizer.save(str(folder / "marked" / FILE))
    return folder / "marked"


@pytest.mark.parametrize(
    ("marking", "query", "document"),
    [
        ("pre_pair", "the [e0]dough[\\e0]", "a [e0]dough[\\e0] in a"),
        ("pre_doc", "the dough", "a [e0]dough[\\e0] in a"),
    ],
)
def test_published_marks_are_read_as_they_were_trained(
    marking: str, query: str, document: str, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    folder = published(tmp_path, precise=True)
    checkpoint = read_model(folder, label="1", marking=marking)
    tokenizer = Tokenizer.from_file(str(folder / FILE))
    theirs = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    found = tokenizer.encode(query, document)
    inputs = {"input_ids": found.ids, "token_type_ids": found.type_ids}
    with torch.inference_mode():
        logits = theirs(**{name: torch.tensor([ids]) for name, ids in inputs.items()}).logits
    score = text_scorer(checkpoint)
    plain = [("the dough", "a dough in a")]
    assert score(plain)[0] == pytest.approx(float(logits.softmax(-1)[0, 1]), abs=1e-5)
    assert (
        score([("the [e0]dough rises", "a dough")])[0] != score([("the dough rises", "a dough")])[0]
    )
    unmarked = read_model(folder, label="1")
    assert text_scorer(unmarked)(plain)[0] != pytest.approx(
        float(logits.softmax(-1)[0, 1]), abs=1e-5
    )


def test_a_precise_marking_needs_its_tokens(tmp_path: Path) -> None:
    folder = published(tmp_path, precise=False)
    with pytest.raises(InputError, match=r"last tokens are \[e0\] to \[\\e19\]"):
        read_model(folder, label="1", marking="pre_pair")
    with pytest.raises(InputError, match="marking is 'stars'"):
        read_model(folder, label="1", marking="stars")


CHAT = (
    "{% for each in messages %}{% if each['role'] == 'query' %}<s>Query: {{ each['content'] }}\n"
    "{% elif each['role'] == 'document' %}Document: {{ each['content'] }}"
    "{% else %}{{ each['content'] }}|{% endif %}{% endfor %}</s>\nanswer: "
)


def chain_folder(folder: Path, architecture: str = "", **model: Any) -> Path:
    """Save a cross-encoder that pools, or a language model whose answer is yes or no."""
    import torch

    library = sentence_transformers()
    modules = library.sentence_transformer.modules
    if architecture:
        plain = transformer_folder(folder / "plain", architecture)
        parts: list[Any] = [
            modules.Transformer(str(plain)), modules.Pooling(32, "cls"),
            modules.Dense(32, 32, activation_function=torch.nn.GELU()), modules.LayerNorm(32),
            modules.Dense(32, 1, activation_function=None, module_output_name="scores"),
        ]  # fmt: skip
    else:
        plain = transformer_folder(folder / "plain", "qwen3", "ForCausalLM")
        (plain / "chat_template.jinja").write_text(CHAT)
        first = modules.Transformer(str(plain), transformer_task="text-generation")
        first.max_seq_length = 80
        parts = [first, library.cross_encoder.modules.LogitScore(40, 41)]
    library.CrossEncoder(modules=parts, device="cpu", **model).save_pretrained(str(folder / "m"))
    return folder / "m"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "model"),
    [
        ("bert", {}),
        ("modernbert", {}),
        ("", {}),
        ("", {"prompts": {"a": "Judge!"}, "default_prompt_name": "a"}),
    ],
)
def test_modules_after_the_transformer_score(
    architecture: str, model: dict[str, Any], tmp_path: Path
) -> None:
    folder = chain_folder(tmp_path, architecture, **model)
    checkpoint = read_model(folder)
    texts = (*TEXTS, "is a cat here?", "{query} <s> ")
    assert difference_of(ModelFolder(folder), checkpoint, texts) <= LARGEST
    assert bool(checkpoint.settings.template) == (not architecture)
    assert checkpoint.settings.template.startswith("Judge!|") == bool(model)
    score = text_scorer(read_checkpoint(checkpoint.save(tmp_path / "c")))
    pairs = [(query, document) for query in (texts[1], "x") for document in texts[-3:]]
    theirs = sentence_transformers().CrossEncoder(str(folder), device="cpu")
    expected = theirs.predict(pairs, batch_size=1)
    assert score(pairs) == pytest.approx(expected, abs=LARGEST)
    assert len({round(float(each), 4) for each in expected}) > 2
