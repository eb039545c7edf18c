"""Models with tiny random weights, each saved by sentence-transformers itself."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.models import ARCHITECTURES as KNOWN
from tests.models import SMALL, TOKENIZERS, tokenizer

HIDDEN, LONGEST = 32, 512
LOUDER = 8.0  # factor of random weights, so that texts differ
HEADS = {**SMALL, "num_key_value_heads": 2, "head_dim": 8}
# The prefix of the classes in transformers, what their config says, and the kind of tokenizer.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any], str]] = {
    **{name: (*known, TOKENIZERS.get(name, "words")) for name, known in KNOWN.items()},
    "deberta-v3": (*KNOWN["deberta-v2"], "pieces"),
    "deberta-v2": ("DebertaV2", {**KNOWN["deberta-v2"][1], "conv_kernel_size": 3}, "pieces"),
    "jina-v3": ("JinaEmbeddingsV3", SMALL, "pieces"),
    "eurobert": ("EuroBert", HEADS, "bytes"),
    "llama": ("Llama", HEADS, "bytes"),
    "mistral": ("Mistral", HEADS, "bytes"),
    "qwen2": ("Qwen2", {**HEADS, "vocab_size": 300}, "bytes"),  # its tokenizer adds a token
    "gpt-neox": ("GPTNeoX", SMALL, "bytes"),
}
CHAT = (
    "{% for each in messages %}{% if each['role'] == 'query' %}<s>Query: {{ each['content'] }}\n"
    "{% elif each['role'] == 'document' %}Document: {{ each['content'] }}"
    "{% else %}{{ each['content'] }}|{% endif %}{% endfor %}</s>\nanswer: "
)
Parts = Callable[["Maker"], Sequence[Any]]


class Maker:
    """Makes modules of sentence-transformers, whose transformers lie in a folder."""

    def __init__(self, place: Path) -> None:
        import sentence_transformers
        from torch import nn

        library: Any = sentence_transformers
        self.place, self.library, self.nn = place, library, nn
        self.modules: Any = library.sentence_transformer.modules
        self.sparse: Any = library.sparse_encoder.modules
        self.late: Any = library.multi_vector_encoder.modules
        self.cross: Any = library.cross_encoder.modules

    def plain(self, architecture: str, head: str = "Model", **config: Any) -> Path:
        """Save a transformer with random weights, and its tokenizer."""
        import torch
        import transformers

        prefix, sizes, kind = ARCHITECTURES[architecture]
        pieces = tokenizer(kind)
        pieces.model_max_length = LONGEST
        if architecture in ("bert", "electra"):
            pieces.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
        ids = {
            "pad_token_id": pieces.pad_token_id, "bos_token_id": pieces.cls_token_id,
            "eos_token_id": pieces.sep_token_id, "cls_token_id": pieces.cls_token_id,
            "sep_token_id": pieces.sep_token_id, "max_position_embeddings": LONGEST + 2,
        }  # fmt: skip
        described = getattr(transformers, f"{prefix}Config")(
            **{"vocab_size": len(pieces), **sizes, **ids, **config}
        )
        network = getattr(transformers, f"{prefix}{head}")(described)
        with torch.no_grad():
            for part, values in network.named_parameters():
                louder = LOUDER if part.startswith(("classifier", "score")) else 1.0
                values.mul_(LOUDER * louder) if values.dim() > 1 else values.add_(
                    torch.randn_like(values) / 10
                )
        folder = self.place / f"plain{len(list(self.place.glob('plain*')))}"
        network.save_pretrained(folder)
        pieces.save_pretrained(folder)
        return folder

    def encoder(self, architecture: str = "bert", head: str = "Model", **options: Any) -> Any:
        """Return the module Transformer."""
        config = options.pop("config", {})
        return self.modules.Transformer(str(self.plain(architecture, head, **config)), **options)

    def pooling(self, mode: Any = "mean", hidden: int = HIDDEN, **options: Any) -> Any:
        """Return the module Pooling."""
        return self.modules.Pooling(hidden, mode, **options)

    def dense(self, size: int = HIDDEN, out: int = HIDDEN, *, tanh: bool = False, **kw: Any) -> Any:
        """Return the module Dense."""
        function = self.nn.Tanh() if tanh else None
        return self.modules.Dense(size, out, activation_function=function, **kw)

    def norm(self, **options: Any) -> Any:
        """Return the module Normalize."""
        return self.modules.Normalize(**options)

    def words(self) -> Any:
        """Return WordEmbeddings over words that spaces part."""
        import numpy as np
        from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

        vectors = np.random.default_rng(0).normal(size=(len(WORDS), HIDDEN)).astype(np.float32)
        return self.modules.WordEmbeddings(WhitespaceTokenizer(WORDS), vectors, max_seq_length=40)

    def table(self) -> Any:
        """Return StaticEmbedding."""
        import numpy as np

        pieces = tokenizer().backend_tokenizer
        size = (pieces.get_vocab_size(), HIDDEN)
        vectors = np.random.default_rng(0).normal(size=size).astype(np.float32)
        return self.modules.StaticEmbedding(pieces, vectors)

    def reranker(self, architecture: str, ids: tuple[int, ...]) -> list[Any]:
        """Return a language model whose score is that of its answer."""
        plain = self.plain(architecture, "ForCausalLM")
        (plain / "chat_template.jinja").write_text(CHAT)
        first = self.modules.Transformer(str(plain), transformer_task="text-generation")
        first.max_seq_length = LONGEST
        return [first, self.cross.LogitScore(*ids)]

    def classifier(self, architecture: str) -> list[Any]:
        """Return a cross-encoder that is a classifier of transformers."""
        head = "ForSequenceClassification"
        plain = self.plain(architecture, head, num_labels=1)
        return [self.modules.Transformer(str(plain), transformer_task="sequence-classification")]


WORDS = ["river", "cat", "dogs", "quick", "apple", "the", "a", "fox", "old", "slow", "dream", "is"]


def dense(architecture: str, mode: Any = "mean", *, normalise: bool = True) -> Parts:
    """Return a transformer, a pooling, and Normalize."""
    return lambda make: [
        make.encoder(architecture), make.pooling(mode), *([make.norm()] if normalise else [])
    ]  # fmt: skip


def after(*names: str) -> Parts:
    """Return BERT, mean pooling, and modules by their names in `AFTER`."""
    return lambda make: [make.encoder(), make.pooling(), *(AFTER[name](make) for name in names)]


AFTER: dict[str, Callable[[Maker], Any]] = {
    "Dense": lambda make: make.dense(out=24),
    "Dense 24": lambda make: make.dense(24, 16),
    "tanh": lambda make: make.dense(out=24, tanh=True),
    "residual": lambda make: make.dense(use_residual=True),
    "residual 24": lambda make: make.dense(out=24, use_residual=True),
    "LayerNorm": lambda make: make.modules.LayerNorm(HIDDEN),
    "Dropout": lambda make: make.modules.Dropout(0.3),
    "Normalize": Maker.norm,
}


def router(kind: str) -> Parts:
    """Return a router, whose queries have a network, a table, or none of their own."""

    def parts(make: Maker) -> Sequence[Any]:
        documents = [make.encoder("bert"), make.pooling()]
        queries = {
            "network": lambda: [make.encoder("roberta"), make.pooling("cls")],
            "leaf": lambda: [
                make.encoder(config={"hidden_size": 16}), make.pooling(hidden=16), make.dense(16)
            ],
            "static": lambda: [make.table()],
            "head": lambda: [documents[0], make.pooling("cls")],
            "same": lambda: documents,
        }[kind]()  # fmt: skip
        return [make.modules.Router.for_query_document(queries, documents), make.norm()]

    return parts


def heads_router(make: Maker) -> Sequence[Any]:
    """Return a transformer, a pooling, and a head for each side, which is what Asym was for."""
    sides = {"query": [make.dense(out=24)], "document": [make.dense(out=24, tanh=True)]}
    return [make.encoder(), make.pooling(), make.modules.Router(sides, default_route="document")]


def mapped_router(make: Maker) -> Sequence[Any]:
    """Return a router that chooses by what kind of input there is."""
    routes = {"text": [make.encoder(), make.pooling()]}
    mappings = {(None, "text"): "text"}
    return [make.modules.Router(routes, route_mappings=mappings, default_route="text")]


def ettin(architecture: str) -> Parts:
    """Return the form of the Ettin rerankers."""
    return lambda make: [
        make.encoder(architecture), make.pooling("cls"),
        make.modules.Dense(HIDDEN, HIDDEN, activation_function=make.nn.GELU()),
        make.modules.LayerNorm(HIDDEN), make.dense(out=1, module_output_name="scores"),
    ]  # fmt: skip


def classifier(architecture: str) -> Parts:
    """Return a cross-encoder that is a transformer alone."""
    return lambda make: make.classifier(architecture)


def late(architecture: str, *more: str, **options: Any) -> Parts:
    """Return a late-interaction encoder."""

    def parts(make: Maker) -> Sequence[Any]:
        tokens: Any = {"module_input_name": "token_embeddings"}
        made = [make.encoder(architecture, **options), make.dense(out=16, bias=False, **tokens)]
        made.append(make.late.MultiVectorMask(["."], skiplist_tasks="document"))
        made += [make.norm(**tokens)]
        return [*made, *(make.late.HierarchicalTokenPooling(2.0) for _ in more)]

    return parts


def splade(architecture: str, **pooling: Any) -> Parts:
    """Return a SPLADE."""
    return lambda make: [
        make.encoder(architecture, "ForMaskedLM", transformer_task="fill-mask"),
        make.sparse.SpladePooling(**pooling),
    ]


def inference_free(make: Maker) -> Sequence[Any]:
    """Return a SPLADE whose queries have weights of terms only."""
    import torch

    first, pooling = splade("distilbert", activation_function="log1p_relu")(make)
    weight = torch.linspace(0, 3, len(first.tokenizer))
    queries = make.sparse.SparseStaticEmbedding(first.tokenizer, weight=weight, frozen=True)
    return [make.modules.Router.for_query_document([queries], [first, pooling])]


def csr(make: Maker) -> Sequence[Any]:
    """Return a dense encoder whose vector becomes a sparse one (Wen 2025)."""
    return [make.encoder(), make.pooling(), make.sparse.SparseAutoEncoder(HIDDEN, 128, k=8)]


LIBRARY = {
    "dense": "SentenceTransformer", "cross": "CrossEncoder", "late": "MultiVectorEncoder",
    "sparse": "SparseEncoder",
}  # fmt: skip
_E5 = {"prompts": {"query": "query: ", "document": "passage: "}}
# By name: the kind, the modules, and further arguments of the library's class.
MODELS: dict[str, tuple[str, Parts, dict[str, Any]]] = {
    **{
        f"BERT, {mode}": ("dense", dense("bert", mode), {})
        for mode in ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
    },
    "BERT, cls and mean": ("dense", dense("bert", ("cls", "mean")), {}),
    "BERT, dot product": ("dense", dense("bert", normalise=False), {"similarity_fn_name": "dot"}),
    "BERT, no Normalize": ("dense", dense("bert", normalise=False), {}),
    "XLM-R, prompts": ("dense", dense("xlm-roberta"), _E5),
    "BERT, prompts not pooled": (
        "dense",
        lambda make: [make.encoder(), make.pooling(include_prompt=False)],
        {"prompts": {"query": "the cat: ", "document": "the river: "}},
    ),
    "BERT, truncate_dim": ("dense", dense("bert"), {"truncate_dim": 16}),
    "BERT, Dense": ("dense", after("Dense"), {}),
    "BERT, Dense (tanh), Normalize": ("dense", after("tanh", "Normalize"), {}),
    "BERT, Dense, Dense, Normalize": ("dense", after("Dense", "Dense 24", "Normalize"), {}),
    "BERT, Dense (residual), LayerNorm": ("dense", after("residual", "LayerNorm"), {}),
    "BERT, Dense (residual, smaller)": ("dense", after("residual 24"), {}),
    "BERT, LayerNorm, Normalize": ("dense", after("LayerNorm", "Normalize"), {}),
    "BERT, Normalize, Dense": ("dense", after("Normalize", "Dense"), {}),
    "BERT, Dropout": ("dense", after("Dropout", "Normalize"), {}),
    "BERT, WeightedLayerPooling": (
        "dense",
        lambda make: [
            make.encoder(config={"output_hidden_states": True}),
            make.modules.WeightedLayerPooling(HIDDEN, num_hidden_layers=2, layer_start=1),
            make.pooling(),
        ],
        {},
    ),
    "BERT, CNN": (
        "dense",
        lambda make: [
            make.encoder(), make.modules.CNN(HIDDEN, 16, [1, 3]), make.pooling(hidden=HIDDEN)
        ],
        {},
    ),
    "WordEmbeddings": ("dense", lambda make: [make.words(), make.pooling()], {}),
    "WordEmbeddings, WordWeights, Dense": (
        "dense",
        lambda make: [
            make.words(), make.modules.WordWeights(WORDS, dict.fromkeys(WORDS[:5], 2.0)),
            make.pooling(), make.dense(),
        ],
        {},
    ),
    "WordEmbeddings, LSTM": (
        "dense", lambda make: [make.words(), make.modules.LSTM(HIDDEN, 16), make.pooling()], {}
    ),
    "BoW, Dense": (
        "dense", lambda make: [make.modules.BoW(WORDS), make.dense(len(WORDS), tanh=True)], {}
    ),
    "StaticEmbedding": ("dense", lambda make: [make.table()], {}),
    "StaticEmbedding, Normalize": ("dense", lambda make: [make.table(), make.norm()], {}),
    **{
        name: ("dense", dense(key, mode), options)
        for name, key, mode, options in (
            ("RoBERTa", "roberta", "mean", {}),
            ("MPNet", "mpnet", "mean", {}),
            ("DistilBERT", "distilbert", "mean", {}),
            ("ELECTRA", "electra", "mean", {}),
            ("ALBERT", "albert", "mean", {}),
            ("DeBERTa v2", "deberta-v2", "mean", {}),
            ("DeBERTa v3", "deberta-v3", "mean", {}),
            ("ModernBERT", "modernbert", "cls", {}),
            ("T5 encoder", "t5", "mean", {}),
            ("Nomic", "nomic", "mean", {"prompts": {"query": "search_query: "}}),
            ("GTE (new)", "gte", "cls", {}),
            ("Jina v3", "jina-v3", "mean", {}),
            ("EuroBERT", "eurobert", "mean", {}),
            ("Qwen3, last token", "qwen3", "lasttoken", {"prompts": {"query": "Query:"}}),
            ("Llama, last token", "llama", "lasttoken", {}),
            ("Mistral, last token", "mistral", "lasttoken", {}),
            ("GPT-NeoX, weighted mean", "gpt-neox", "weightedmean", {}),
        )
    },
    "EmbeddingGemma": (
        "dense",
        lambda make: [
            make.encoder("gemma3"), make.pooling(), make.dense(out=48, bias=False),
            make.dense(48, bias=False), make.norm(),
        ],
        {"prompts": {"query": "task: search result | query: ", "document": "title: none | text: "}},
    ),
    "Router, two networks": ("dense", router("network"), {"prompts": {"query": "find: "}}),
    "Router, small queries (LEAF)": ("dense", router("leaf"), {}),
    "Router, static queries": ("dense", router("static"), {}),
    "Router, one network, two poolings": ("dense", router("head"), {}),
    "Router, twice the same": ("dense", router("same"), {}),
    "Router after the pooling (Asym)": ("dense", heads_router, {}),
    "Router with route_mappings": ("dense", mapped_router, {}),
    **{
        f"cross-encoder, {key}": ("cross", classifier(key), {})
        for key in ("bert", "xlm-roberta", "electra", "deberta-v3", "modernbert", "gte", "qwen3")
    },
    "cross-encoder, Ettin": ("cross", ettin("modernbert"), {}),
    "cross-encoder, Pooling and Dense": ("cross", ettin("bert"), {}),
    "cross-encoder, Qwen3 yes and no": ("cross", lambda make: make.reranker("qwen3", (40, 41)), {}),
    "cross-encoder, Qwen2 1 and 0 (mxbai)": (
        "cross",
        lambda make: make.reranker("qwen2", (40, 41)),
        {"prompts": {"a": "Judge!"}, "default_prompt_name": "a"},
    ),
    "cross-encoder, Qwen2 yes": ("cross", lambda make: make.reranker("qwen2", (40,)), {}),
    "late interaction, BERT": (
        "late",
        late("bert", query_expansion={"strategy": "fixed", "length": 24}, document_length=40),
        {"prompts": {"query": "the ", "document": "a "}},
    ),
    "late interaction, ModernBERT": ("late", late("modernbert"), {}),
    "late interaction, token pooling": ("late", late("bert", "pooled"), {}),
    "SPLADE, BERT": ("sparse", splade("bert", activation_function="log1p_relu"), {}),
    "SPLADE, DistilBERT, sum": ("sparse", splade("distilbert", pooling_strategy="sum"), {}),
    "SPLADE, ModernBERT": ("sparse", splade("modernbert"), {}),
    "SPLADE, inference-free": ("sparse", inference_free, {}),
    "CSR": ("sparse", csr, {}),
}  # fmt: skip


def save_model(name: str, folder: Path) -> None:
    """Save a model of `MODELS`; its transformers lie beside it while it is made."""
    import torch

    kind, parts, options = MODELS[name]
    torch.manual_seed(0)
    make = Maker(folder.with_name(f"{folder.name}.parts"))
    modules = list(parts(make))
    made = getattr(make.library, LIBRARY[kind])(modules=modules, device="cpu", **options)
    made.save_pretrained(str(folder))
