"""The modules of sentence-transformers as a network of tensors, in training and in a graph.

A checkpoint describes the modules after the transformer by their classes and configs, and has their
weights beside the transformer's. So what runs is the library's own code, whatever a module does.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ranklet.corpus.faults import first_line
from ranklet.runtime.ground.errors import InputError, ModelFolderError
from ranklet.training.imported.encoder import takes_token_types
from ranklet.training.imported.folder import check_class

MODULES = "ranklet_modules"  # key in config.json: the modules after the transformer, in order
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
STATES, LAYERS, SCORES = "token_embeddings", "all_layer_embeddings", "scores"
WITHOUT_EFFECT = "Dropout"  # outside of training


class Chain(nn.Module):
    """A transformer and the modules after it.

    Args:
        encoder: a model of transformers.
        modules: descriptions of the modules; see `describe_module`.

    Attributes:
        inputs: the names of the inputs that the transformer reads.

    Raises:
        InputError: a description is of no module.
    """

    def __init__(self, encoder: nn.Module, modules: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__()
        self.encoder = encoder
        self.after = nn.ModuleList(map(make_module, modules))
        self.inputs = INPUTS if takes_token_types(encoder) else INPUTS[:2]

    def read(self, *inputs: Tensor | None, **options: Any) -> dict[str, Any]:
        """Return what the modules read: the inputs and what the transformer makes of them.

        Args:
            inputs: those of `INPUTS`, (texts, tokens) int64 each; what follows is not read.
            options: further arguments of the transformer.
        """
        given = dict(zip(self.inputs, inputs, strict=False))
        made = self.encoder(**given, **options)
        features: dict[str, Any] = {**given}
        if "last_hidden_state" in made:
            features[STATES] = made.last_hidden_state.float()
        if made.get("hidden_states") is not None:
            features[LAYERS] = made.hidden_states
        if "logits" in made:
            features["logits"] = made.logits.float()
        return features

    def follow(self, features: dict[str, Any]) -> dict[str, Any]:
        """Return what the modules after the transformer make of it."""
        for module in self.after:
            features = module(features)
        return features


def describe_modules(modules: Sequence[Any], folder: Path) -> list[dict[str, Any]]:
    """Return the class and the config of modules, of which `make_module` makes them again.

    Raises:
        ModelFolderError: one has an activation function that is none of torch.nn, or another form.
    """
    described = []
    for module in modules:
        kind = type(module)
        config = {name: _plain(value) for name, value in module.get_config_dict().items()}
        if isinstance(function := getattr(module, "activation_function", None), nn.Module):
            config["activation_function"] = name_activation(function)
        described.append({"type": f"{kind.__module__}.{kind.__qualname__}", **config})
        try:
            made = make_module(described[-1])
            alike = made.state_dict().keys() == module.state_dict().keys()
        except InputError as error:
            raise ModelFolderError(f"{str(folder)!r} has a {kind.__name__}: {error}") from None
        if not alike:
            raise ModelFolderError(
                f"{str(folder)!r} has a {kind.__name__}, whose config does not describe it"
            )
    return described


def take_modules(chain: Chain, modules: Sequence[Any]) -> None:
    """Give a chain the weights of the modules that it was described by."""
    for own, module in zip(chain.after, modules, strict=True):
        own.load_state_dict(module.state_dict())


def try_modules(chain: Chain, folder: Path, output: str, **first: Any) -> tuple[int, ...]:
    """Return the shape of what a chain makes of two tokens.

    Args:
        chain: the chain.
        folder: the model's folder, for messages.
        output: the name of what its last module must make.
        first: more that its first module reads.

    Raises:
        ModelFolderError: a module fails, which the message names, or makes something else.
    """
    ids = torch.ones((1, 2), dtype=torch.int64)
    chain.eval()
    with torch.no_grad():
        features = {**chain.read(ids, ids, ids * 0), **first}
        for module in chain.after:
            try:
                features = module(features)
            except Exception as error:  # of a module of any kind
                raise ModelFolderError(
                    f"{str(folder)!r} has a {type(module).__name__} that cannot read what is "
                    f"before it ({first_line(error)})"
                ) from None
    made = features.get(output)
    if not isinstance(made, Tensor):
        name = type([chain.encoder, *chain.after][-1]).__name__
        raise ModelFolderError(f"{str(folder)!r} ends in a {name}, which makes no {output}")
    return tuple(made.shape)


def is_dense(module: nn.Module) -> bool:
    """Return whether a module is a linear layer of the library, with an activation."""
    return type(module).__name__ == "Dense"


def make_module(described: Mapping[str, Any]) -> nn.Module:
    """Return a module of sentence-transformers with random weights.

    Args:
        described: its class as `type`, and the arguments of the class.

    Raises:
        InputError: the class is none of the library's modules, or does not take the arguments.
    """
    from sentence_transformers.base.modules import InputModule, Module

    try:
        config = dict(described)
        place, _, name = str(config.pop("type")).rpartition(".")
        check_class(f"{place}.{name}", Path("checkpoint"))
        if name == "LayerNorm":
            config = {"dimension": config["dimension"]}
        if function := config.get("activation_function"):
            config["activation_function"] = make_activation(str(function))
        kind = getattr(import_module(place), name)
        if not issubclass(kind, Module) or issubclass(kind, InputModule):
            raise ValueError(f"{name} is no module that follows another")
        module: nn.Module = kind(**config)
    except (ImportError, AttributeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{dict(described)!r:.200} describes no module: {error!r:.200}") from error
    return module


def name_activation(function: Any) -> str:
    """Return the name of a function of torch.nn, which `make_activation` makes again.

    Raises:
        ModelFolderError: it is none.
    """
    name = f"torch.nn.{type(function).__name__}"
    if type(function) is not getattr(nn, type(function).__name__, None):
        raise ModelFolderError(
            f"the activation function {type(function).__name__} is none of torch.nn, which are "
            "supported"
        )
    return name


def make_activation(name: str) -> nn.Module:
    """Return a function of torch.nn by its name, such as torch.nn.Tanh.

    Raises:
        ValueError: there is none of this name.
    """
    kind = getattr(nn, name.removeprefix("torch.nn."), None)
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise ValueError(f"{name} is no class of torch.nn")
    made: nn.Module = kind(-1) if kind is nn.Softmax else kind()
    return made


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
