"""Read a model by the library that it was made for, and compare what is imported with it."""

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.faults import one_line
from ranklet.corpus.memory import release
from ranklet.runtime.call.protocol import Role
from ranklet.runtime.ground.errors import ModelFolderError
from ranklet.training.checkpoint import Checkpoint
from ranklet.training.imported.encoder import plain_config, quiet, whole_weights
from ranklet.training.imported.folder import ModelFolder
from ranklet.training.imported.importing import check_folder, find_form
from ranklet.training.imported.tokenizer import own_tokenizer, position_rows
from ranklet.training.one_thread import one_thread_each

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LIBRARY = "sentence-transformers"
LARGEST = 1e-4  # difference of a number of a vector, or of a score, in float32
TEXTS = 16  # compared texts, of all lengths; a network that is read wrongly differs on any text
SMALLEST = 1e-12  # length of a vector that is divided by it
NO_LIMIT = 1_000_000  # a tokenizer without a limit has this number or a larger one
LONGEST = 512  # tokens, if nothing limits them


class Original(NamedTuple):
    """How an imported model compares with its library's own output."""

    library: str  # name and version
    difference: float  # largest absolute difference in float32

    def __str__(self) -> str:
        return f"equal to {self.library} within {self.difference:.0e}"


def load_original(kind: str, path: Path) -> Any:
    """Return a model of sentence-transformers, in float32 on the CPU, which runs no code of its.

    The library would otherwise compute in the type of the saved weights, and round what ranklet
    does not. It would also need whatever attention on a GPU the folder asks for.

    Args:
        kind: the name of its class, such as SentenceTransformer.
        path: the model's folder.

    Raises:
        ModelFolderError: a file is damaged or unsafe, or the library cannot read the folder.
    """
    import sentence_transformers
    import torch

    check_folder(path)
    plain = {"dtype": torch.float32, "attn_implementation": "eager", "use_safetensors": True}
    with one_line(f"{str(path)!r} cannot be loaded"), quiet(), whole_weights(path):
        model = getattr(sentence_transformers, kind)(
            str(path), device="cpu", local_files_only=True, model_kwargs=plain
        )
    for each in model.modules():
        rows = position_rows(each.model) if is_transformer(each) else None
        if rows:  # which the library does not look at
            each.max_seq_length = min(each.max_seq_length or rows, rows)
    return model.float().eval()


def is_transformer(module: Any) -> bool:
    """Return whether a module of sentence-transformers is a transformer."""
    from sentence_transformers.base.modules import Transformer

    return isinstance(module, Transformer)


def class_names(modules: Sequence[Any]) -> list[str]:
    """Return the names of the classes of modules."""
    return ["Transformer" if is_transformer(each) else type(each).__name__ for each in modules]


def modules_by_role(model: Any, path: Path) -> tuple[list[Any], list[Any]]:
    """Return the modules that encode queries and those that encode documents.

    They are the same ones, unless one of them is a router, which may stand anywhere.

    Raises:
        ModelFolderError: a router has no route for one of them.
    """
    from sentence_transformers.base.modules import Router

    found: dict[str, list[Any]] = {"query": [], "document": []}
    for role, modules in found.items():
        for each in model:
            if not isinstance(each, Router):
                modules.append(each)
                continue
            try:
                route = each._resolve_route(task=role, modality="text")
            except ValueError:
                raise ModelFolderError(
                    f"{str(path)!r} has a Router of {', '.join(each.sub_modules)}, which has no "
                    f"route for a {role}"
                ) from None
            routes: Any = each.sub_modules
            modules.extend(routes[route])
    return found["query"], found["document"]


class ReadTransformer(NamedTuple):
    """A transformer as its library has read it."""

    network: Any  # of transformers
    config: dict[str, Any]  # the content of its config.json
    tokenizer: "Tokenizer"
    longest: int  # tokens that it reads of a text, special tokens counted
    limits: tuple[int, int]  # tokens of a query and of a document

    @classmethod
    def of(cls, module: Any, path: Path, most: int = NO_LIMIT) -> "ReadTransformer":
        """Return what a module has; at most `most` tokens of a text are read.

        Raises:
            ModelFolderError: see `own_tokenizer`; or it is no transformer, or is called with
                arguments of its own.
        """
        if not is_transformer(module):
            raise ModelFolderError(
                f"{str(path)!r} begins with a {type(module).__name__}, which is no transformer; "
                "supported are Transformer with any modules after it, and StaticEmbedding"
            )
        calls = module.processing_kwargs
        if own := {key: calls[key] for key in ("common", "text") if calls.get(key)}:
            raise ModelFolderError(
                f"{str(path)!r} calls its tokenizer with arguments of its own (processing_kwargs "
                f"{own!r:.80}), which is not supported"
            )
        tokenizer = own_tokenizer(module.tokenizer, path)
        own_limit = module.max_seq_length
        longest = min(own_limit if own_limit and own_limit < NO_LIMIT else LONGEST, most)
        query, document = (
            min(limit or longest, longest)
            for limit in (module.query_length, module.document_length)
        )
        config = plain_config(module.model)
        return cls(module.model, config, tokenizer, longest, (query, document))


def shortened(text: str, settings: Any) -> str:
    """Return the begin of a text that every tokenizer reads as a query, whole.

    Args:
        text: any text.
        settings: of a ranker; they limit the tokens of a query.
    """
    return text[: max(1, settings.max_query_tokens // 4)]  # UTF-8 has up to 4 bytes per character


def largest_difference(
    load: Callable[[], Any],
    texts: Sequence[str],
    settings: Any,
    encode: Callable[[Role], Iterable[NDArray[np.float32]]],
    **options: Any,
) -> float:
    """Return the largest difference of a number from sentence-transformers' own, over all texts.

    Each text is encoded alone, because padding changes the positions that some networks see. If a
    text has another number of vectors, the difference is infinite.

    Args:
        load: loads the library's model, which is not kept, because two need not be in memory.
        texts: encoded as queries and as documents.
        settings: of a ranker, whose prompts are used if it has any.
        encode: returns our own vectors of the texts in a role.
        options: for the library's encoding.
    """
    options = {"show_progress_bar": False, "batch_size": 1, **options}
    model, largest = load(), 0.0
    library: dict[Role, Any] = {"query": model.encode_query, "document": model.encode_document}
    expected = {
        role: own(list(texts), prompt=getattr(settings, f"{role}_prompt", ""), **options)
        for role, own in library.items()
    }
    del model, library
    for role, rows in expected.items():
        for ours, theirs in zip(encode(role), rows, strict=True):
            other = np.asarray(theirs, np.float32)
            if other.ndim == 1:  # one vector, of which ours may be the begin, or have more zeros
                ours, other = ours[: len(other)], other[: len(ours)]
                if getattr(settings, "similarity", "") == "cosine":
                    other = other / max(float(np.linalg.norm(other)), SMALLEST)
            if ours.shape != other.shape:
                return inf
            largest = max(largest, float(np.abs(ours - other).max(initial=0)))
    return largest


def compare(folder: str | Path, checkpoint: Checkpoint, texts: Sequence[str]) -> Original:
    """Compare a checkpoint with the original model.

    Args:
        folder: the original model.
        checkpoint: what was imported from it.
        texts: real texts, of which the first are compared.

    Raises:
        ModelFolderError: the difference is larger than `LARGEST`, so the import is wrong, or the
            library cannot load the model.
    """
    importing = find_form(checkpoint).importer()
    library = f"{LIBRARY} {version(LIBRARY)}"
    with one_line(f"{str(folder)!r} cannot be compared with {library}"), quiet(), one_thread_each:
        difference = importing.difference(ModelFolder(folder), checkpoint, texts[:TEXTS])
    release()
    original = Original(library, difference)
    if not difference <= LARGEST:
        raise ModelFolderError(
            f"{str(folder)!r} was read wrongly, because its output differs from "
            f"{original.library}'s by {difference:.1e}; at most {LARGEST:g} is allowed. Please "
            "report the content of its modules.json"
        )
    return original
