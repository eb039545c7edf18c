"""Texts per second on the GPU: encoding and reranking, ours, PyTorch and sentence-transformers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu.checkpoints import (
    QUERY_TOKENS,
    cross_encoder_folder,
    imported_cross_encoder,
    imported_dense,
)
from benchmarks.gpu.material import backbone_folder
from benchmarks.gpu.setting import Result, Setting, attempts, last_line
from benchmarks.harness.timing import take_turns
from ranklet.export.bundles import export_bundle
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.bundles.files import BundleFiles
from ranklet.runtime.onnx.encoder import Encoder, open_encoder
from ranklet.runtime.rankers.dense import OUTPUT, DenseSettings

Run = Callable[[list[str]], object]
Contenders = dict[str, Run]

OURS, TORCH, THEIRS = "ranklet", "PyTorch", "sentence-transformers, ONNX"
HEAD = ("", OURS, TORCH, THEIRS, "ranklet ÷ PyTorch", "ranklet ÷ sentence-transformers")
GOAL = 1.2  # times PyTorch in 16 bits, for pairs
ABOUT = f"""
- Texts or pairs per second, all in fp16, from text to numbers in the processor's memory. The \
contenders take turns, so compare within a row. PyTorch is transformers' network in 16 bits in \
`torch.inference_mode`, with the same tokenizer as ours. sentence-transformers has the graph that \
its optimum makes (O4). Pairs have lengths from a quarter of the most on, so padding counts; a \
ratio below {GOAL} misses the goal and is bold. A last stage reads 100 pairs of 256 tokens.
"""
WORD = "apple "  # one token of BERT's vocabulary
CALLS = 4  # per round
HALF = ExportOptions(variants=("fp16",), max_ndcg_loss=1.0)
ENCODER, RERANKER = "gpu.encoder.ranklet", "gpu.reranker.ranklet"


def rows(setting: Setting) -> Iterator[Result]:
    """Yield a row per length and batch size, pairs first."""
    pairs = [(f"pairs, ≤ {tokens} tokens", (tokens, _rerankers)) for tokens in setting.pair_tokens]
    encoding = [(f"encoding, {tokens} tokens", (tokens, _encoders)) for tokens in setting.lengths]
    yield from attempts(setting, [*pairs, *encoding], partial(_by_batch, setting))


def _by_batch(
    setting: Setting, name: str, of: tuple[int, Callable[[Setting, int], Contenders]]
) -> Iterator[Result]:
    tokens, open_contenders = of
    contenders, pairs = open_contenders(setting, tokens), open_contenders is _rerankers

    def measure(label: str, batch: int) -> Iterator[Result]:
        texts = mixed(tokens - QUERY_TOKENS, batch) if pairs else [WORD * tokens] * batch
        found = rates(contenders, texts, setting.rounds)
        yield result(label, *found, goal=GOAL if pairs else 0)

    batches = setting.pair_batches if pairs else setting.batches
    yield from attempts(setting, [(f"{name}, {b} a call", b) for b in batches], measure)


def mixed(tokens: int, count: int) -> list[str]:
    """Return texts of a quarter to all of so many tokens, in an order that does not help.

    >>> [len(text.split()) for text in mixed(8, 4)]
    [2, 6, 4, 8]
    """
    lengths = np.linspace(tokens // 4, tokens, count).astype(int)
    return [WORD * int(length) for length in (*lengths[::2], *lengths[1::2])]


def rates(
    contenders: Mapping[str, Run], texts: list[str], rounds: int
) -> tuple[dict[str, float], dict[str, str]]:
    """Return texts per second by contender, and why others could not run."""
    running, failed = {}, {}
    for name, run in contenders.items():
        try:
            run(texts)  # the first run of a shape is slow
            running[name] = run
        except Exception as error:  # a contender that fails does not end the others' contest
            failed[name] = last_line(f"{type(error).__name__}: {error}")
    ms = take_turns(running, [texts] * CALLS, rounds, CALLS) if running else {}
    return {name: len(texts) / float(np.median(each)) * 1e3 for name, each in ms.items()}, failed


def result(
    label: str, found: Mapping[str, float], failed: Mapping[str, str], *, goal: float = 0
) -> Result:
    """Return the row of one batch size; only a failure of ours or of PyTorch is an error."""

    def cell(name: str) -> str:
        if name in found:
            return f"{found[name]:,.0f}"
        return f"failed: {failed[name]}" if name in failed else "not installed"

    def ratio(name: str) -> str:
        if not {OURS, name} <= found.keys():
            return ""
        times = found[OURS] / found[name]
        return f"**{times:.2f}**" if name == TORCH and times < goal else f"{times:.2f}"

    cells = (label, cell(OURS), cell(TORCH), cell(THEIRS), ratio(TORCH), ratio(THEIRS))
    errors = [f"{label}, {name}: {failed[name]}" for name in (OURS, TORCH) if name in failed]
    return Result(cells, "; ".join(errors))


def our_encoder(setting: Setting) -> Encoder:
    """Return the runtime's encoder of the backbone in 16 bits."""
    bundle = encoder_bundle(setting)
    settings: DenseSettings = bundle.settings("dense")
    return open_encoder(bundle, "rankers/dense/", OUTPUT, settings.dimension)


def encoder_bundle(setting: Setting) -> BundleFiles:
    """Return a bundle with the backbone in 16 bits alone."""
    path = setting.work / ENCODER
    if not path.is_dir():
        export_bundle({"dense": imported_dense(setting)}, path, HALF)
    return BundleFiles(path, device=setting.device, strict=True)


def _encoders(setting: Setting, tokens: int) -> Contenders:
    ours = our_encoder(setting)
    source = backbone_folder(setting)
    theirs = _unless_missing(setting, source, partial(_their_encoder, setting, tokens))
    return {
        OURS: lambda texts: ours.encode(texts, tokens, 0).vectors,
        TORCH: torch_encoder(setting, tokens),
        **theirs,
    }


def torch_encoder(setting: Setting, tokens: int) -> Run:
    """Return transformers' network with the mean of its last layer."""
    import torch
    from transformers import AutoModel

    from ranklet.training.imported.tokenizer import model_tokenizer

    source = backbone_folder(setting)
    tokenizer = model_tokenizer(source)
    tokenizer.enable_truncation(tokens)
    tokenizer.enable_padding()
    network: Any = AutoModel.from_pretrained(str(source))
    network = network.half().eval().to(setting.device)

    def encode(texts: Sequence[str]) -> object:
        encoded = tokenizer.encode_batch(list(texts))
        ids = torch.tensor([each.ids for each in encoded], device=setting.device)
        mask = torch.tensor([each.attention_mask for each in encoded], device=setting.device)
        with torch.inference_mode():
            states = network(input_ids=ids, attention_mask=mask).last_hidden_state
            weights = mask.unsqueeze(2).to(states.dtype)
            return ((states * weights).sum(1) / weights.sum(1)).float().cpu().numpy()

    return encode


def reranker_bundle(setting: Setting) -> Path:
    """Return a bundle with a cross-encoder in 16 bits alone."""
    path = setting.work / RERANKER
    if not path.is_dir():
        made = imported_cross_encoder(setting)
        few = made.probes.nearest(*setting.pair_probes) if made.probes else None
        export_bundle({"cross": replace(made, probes=few)}, path, HALF)
    return path


def _rerankers(setting: Setting, tokens: int) -> Contenders:
    bundle = Bundle(reranker_bundle(setting), device=setting.device, strict=True)
    source = cross_encoder_folder(setting)
    theirs = _unless_missing(setting, source, partial(_their_reranker, setting, tokens))
    return {
        OURS: lambda texts: bundle.score(_query(), texts),
        TORCH: _torch_reranker(setting, tokens),
        **theirs,
    }


def _query() -> str:
    return WORD * (QUERY_TOKENS // 2)


def _torch_reranker(setting: Setting, tokens: int) -> Run:
    import torch
    from transformers import AutoModelForSequenceClassification

    from ranklet.training.imported.tokenizer import model_tokenizer

    source, loader = cross_encoder_folder(setting), AutoModelForSequenceClassification
    tokenizer = model_tokenizer(source)
    tokenizer.enable_truncation(tokens, strategy="only_second")
    tokenizer.enable_padding()
    network: Any = loader.from_pretrained(str(source))
    network = network.half().eval().to(setting.device)

    def rerank(texts: Sequence[str]) -> object:
        encoded = tokenizer.encode_batch([(_query(), text) for text in texts])
        names = ("ids", "attention_mask", "type_ids")
        ids, mask, segments = (
            torch.tensor([getattr(each, name) for each in encoded], device=setting.device)
            for name in names
        )
        with torch.inference_mode():
            fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
            return network(**fed).logits.float().cpu().numpy()

    return rerank


def _unless_missing(
    setting: Setting, source: Path, open_theirs: Callable[[Path], Run]
) -> Contenders:
    """Return sentence-transformers' contender; if it cannot be opened, its runs raise why."""
    if setting.device != "cuda" or not all(map(find_spec, ("sentence_transformers", "optimum"))):
        return {}
    try:
        return {THEIRS: open_theirs(source)}
    except Exception as error:  # whatever a mismatch of its packages raises
        reason = f"{type(error).__name__}: {error}"

        def fail(_: list[str]) -> object:
            raise RuntimeError(reason)

        return {THEIRS: fail}


def _their_encoder(setting: Setting, tokens: int, source: Path) -> Run:
    from sentence_transformers import SentenceTransformer

    folder = setting.work / "gpu.peer.encoder"
    found: Any = _optimised(SentenceTransformer, source, folder)
    found.max_seq_length = tokens
    return lambda texts: found.encode(texts, batch_size=len(texts), show_progress_bar=False)


def _their_reranker(setting: Setting, tokens: int, source: Path) -> Run:
    from sentence_transformers import CrossEncoder

    folder = setting.work / "gpu.peer.reranker"
    found: Any = _optimised(partial(CrossEncoder, max_length=tokens), source, folder)

    def rerank(texts: list[str]) -> object:
        pairs = [(_query(), text) for text in texts]
        return found.predict(pairs, batch_size=len(pairs), show_progress_bar=False)

    return rerank


def _optimised(library: Any, source: Path, folder: Path) -> Any:
    """Return a model of sentence-transformers on its own ONNX graph in 16 bits, on CUDA."""
    from sentence_transformers.backend import export_optimized_onnx_model

    provider = {"provider": "CUDAExecutionProvider"}
    if not (folder / "onnx" / "model_O4.onnx").is_file():
        made = library(str(source), backend="onnx", model_kwargs={**provider, "export": True})
        made.save_pretrained(str(folder))
        export_optimized_onnx_model(made, "O4", str(folder))
    chosen = {**provider, "file_name": "onnx/model_O4.onnx"}
    return library(str(folder), backend="onnx", model_kwargs=chosen)
