"""Train light contextualisation: distil an oracle, then fine-tune by score margins.

Source: Boualili 2022, §8.3.2. The table of sub-embeddings is frozen in fine-tuning unless the
options say otherwise. The oracle never changes.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.runtime.dense.maxsim import TokenStore, quantise_query
from ranklet.runtime.errors import InputError
from ranklet.runtime.rankers.colbert.settings import ColBERTSettings
from ranklet.runtime.rankers.colbert.tokens import TokenLayout
from ranklet.runtime.rankers.srm.settings import SRMSettings
from ranklet.runtime.rankers.srm.special import special_ids
from ranklet.training.checkpoint import Checkpoint, read_checkpoint
from ranklet.training.data.collection import Collection
from ranklet.training.data.splits import JudgedQueries
from ranklet.training.learning.device import seeded
from ranklet.training.learning.length import planned
from ranklet.training.learning.losses import margin_mse
from ranklet.training.learning.weights import trained
from ranklet.training.pretrained.backbone import load_backbone
from ranklet.training.rankers.colbert import training as colbert
from ranklet.training.rankers.colbert.network import ColBERTNetwork
from ranklet.training.rankers.colbert.teacher_margins import TeacherMargins
from ranklet.training.rankers.srm.centroids import centroids
from ranklet.training.rankers.srm.distillation import distil
from ranklet.training.rankers.srm.network import KIND, LightNetwork
from ranklet.training.rankers.srm.options import Options
from ranklet.training.rankers.srm.oracle import Padded, TokenVectors, oracle_vectors
from ranklet.training.sampling.encoder_texts import EncoderTexts
from ranklet.training.sampling.negatives import Numbers
from ranklet.training.sampling.teacher import check_teacher
from ranklet.training.sampling.text_pairs import Batch, Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_log = logging.getLogger(__name__)

ALONE = 512  # tokens of the vocabulary that the oracle reads at a time
CLUSTERED = 2_000_000  # occurrences of tokens whose vectors centroids are made of, at most
MEASURED = "int16"  # how vectors are stored while the pool is ranked
EVALUATED = 64  # texts at a time


def train(
    collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
) -> Checkpoint:
    """Distil and fine-tune light vectors.

    Raises:
        InputError: as `EncoderTexts`; or the oracle or the teacher does not fit.
        TrainingError: see `fit`.
    """
    return learn(Material.read(collection, queries, dev, options), options)


@dataclass(frozen=True, kw_only=True)
class Material:
    """What light vectors learn from. Several trainings can share it.

    Attributes:
        oracle: the checkpoint that is imitated.
        network: its network.
        texts: the batches, and the pool.
        layout: makes the rows of texts.
        queries: the oracle's vectors of the queries to learn from.
        documents: those of the documents in `numbers`.
        numbers: of the collection's documents that have vectors, ascending.
        pool_queries: the oracle's vectors of the queries of the pool.
        more: further texts to distil on.
        tables: centroids that were computed, by their number and the seed.
    """

    oracle: Checkpoint
    network: ColBERTNetwork
    texts: EncoderTexts
    layout: TokenLayout
    queries: TokenVectors
    documents: TokenVectors
    numbers: Numbers
    pool_queries: TokenVectors
    margins: TeacherMargins | None = None
    more: Sequence[TokenVectors] = ()
    tables: dict[tuple[int, int], NDArray[np.float32]] = field(default_factory=dict)

    @classmethod
    def read(
        cls, collection: Collection, queries: JudgedQueries, dev: JudgedQueries, options: Options
    ) -> "Material":
        """Read texts, and run the oracle on those that are needed; see `train`."""
        if options.oracle is None:
            raise InputError(
                "light vectors imitate a ColBERT; train one (`ranklet train colbert`) and give its "
                "checkpoint as --oracle"
            )
        oracle = read_checkpoint(options.oracle)
        settings = oracle_settings(oracle)
        network = colbert.load(oracle)
        layout = TokenLayout(settings, oracle.need_tokenizer())
        backbone = load_backbone(options.oracle, segments=False)
        limits = options.max_query_tokens, options.max_document_tokens
        texts = EncoderTexts(collection, queries, dev, options, backbone, limits=limits)
        numbers = _needed(texts, options)
        folder = options.folder

        def vectors(role: Any, tokens: Tokens, label: str) -> TokenVectors:
            return oracle_vectors(network, layout, role, tokens, folder, label)

        margins = None
        if options.teacher is not None:
            teacher = read_checkpoint(options.teacher)
            check_teacher(teacher)
            margins = TeacherMargins(teacher, collection, queries, texts, options)
        return cls(
            oracle=oracle,
            network=network,
            texts=texts,
            layout=layout,
            queries=vectors("query", texts.pairs.queries, "the oracle's vectors of queries"),
            documents=vectors(
                "document", texts.pairs.documents.rows(numbers), "the oracle's vectors of documents"
            ),
            numbers=numbers,
            pool_queries=vectors("query", texts.pool.queries, "the oracle's vectors of the pool"),
            margins=margins,
        )

    def documents_at(self, numbers: NDArray[np.integer]) -> list[int]:
        """Return where the vectors of some of the collection's documents stand."""
        places: list[int] = np.searchsorted(self.numbers, numbers).tolist()
        return places

    @cached_property
    def alone(self) -> NDArray[np.float32]:
        """The oracle's vector of each token without context, (vocabulary, dimension) float32."""
        tokenizer = self.oracle.need_tokenizer()
        size = max(tokenizer.get_vocab_size(), int(self.oracle.network.get("vocab_size", 0)))
        around, middle = _template(tokenizer, self.layout)
        made = []
        with torch.inference_mode():
            for begin in range(0, size, ALONE):
                ids = np.repeat(np.array([around], np.int64), min(ALONE, size - begin), 0)
                ids[:, middle] = np.arange(begin, begin + len(ids))
                inputs = torch.from_numpy(ids), torch.ones(ids.shape, dtype=torch.int64)
                made.append(self.network(*inputs)[:, middle].numpy())
        return np.concatenate(made)

    def centroids(self, clusters: int, seed: int) -> NDArray[np.float32]:
        """Return what the table begins with, (vocabulary, clusters, dimension) float32."""
        if (clusters, seed) not in self.tables:
            found = [_sample_tokens(source, seed) for source in self.sources]
            ids, vectors = (np.concatenate(each) for each in zip(*found, strict=True))
            self.tables[clusters, seed] = centroids(ids, vectors, self.alone, clusters, seed)
        return self.tables[clusters, seed]

    @property
    def sources(self) -> list[TokenVectors]:
        """The texts to distil on."""
        return [self.documents, self.queries, *self.more]


def oracle_settings(oracle: Checkpoint) -> ColBERTSettings:
    """Return the settings of an oracle.

    Raises:
        InputError: it is no ColBERT, or it expands queries.
    """
    settings = oracle.settings
    if oracle.kind != "colbert" or not isinstance(settings, ColBERTSettings):
        raise InputError(f"the oracle is a {oracle.kind}; give the checkpoint of a colbert")
    if settings.expansion != "none":
        raise InputError(
            "the oracle fills queries up with [MASK], whose vectors have no static ones; give an "
            "oracle that was trained with --expansion none"
        )
    return settings


def light_settings(oracle: ColBERTSettings, options: Options) -> SRMSettings:
    """Return the settings of light vectors with the oracle's way to read texts.

    Raises:
        InputError: the options do not go together.
    """
    return SRMSettings(
        options.max_query_tokens,
        options.max_document_tokens,
        dimension=oracle.dimension,
        similarity=oracle.similarity,
        query_prompt=oracle.query_prompt,
        document_prompt=oracle.document_prompt,
        query_marker=oracle.query_marker,
        document_marker=oracle.document_marker,
        skipped=oracle.skipped,
        special_tokens=oracle.special_tokens,
        sub_embeddings=options.sub_embeddings,
        mixing=options.mixing,
        window=options.window,
        heads=options.heads,
        context=options.context,
        context_window=options.context_window,
        documents=options.documents,
        form=options.form,
        idf=options.idf,
    )


def learn(material: Material, options: Options) -> Checkpoint:
    """Distil and fine-tune light vectors on what was read.

    Raises:
        InputError: the options do not go together.
        TrainingError: see `fit`.
    """
    settings = light_settings(material.oracle.settings, options)
    tokenizer = material.oracle.need_tokenizer()
    with seeded(options.seed):
        model = LightNetwork(settings, None, len(material.alone), special_ids(tokenizer))
        table = model.light.table.weight
        with torch.no_grad():
            if options.initial == "centroids":
                begun = material.centroids(options.sub_embeddings, options.seed)
                table.copy_(torch.from_numpy(begun).flatten(1))
                model.light.begin()
            else:
                table.uniform_(-1, 1)  # as in the published code
        special: Any = model.special
        losses = distil(model.light, material.sources, special, options)
    table.requires_grad_(options.train_table)
    model.light.table.sparse = False
    tuned = _fine_tuned(model, settings, material, options)
    facts = {"oracle": str(options.oracle), "distillation_loss": _ends_of(losses)}
    if options.teacher is not None:
        facts["teacher"] = str(options.teacher)
    weights, network = dict(tuned.weights), {"vocab_size": len(table)}
    if not settings.static_documents:
        weights |= {f"oracle.{name}": each for name, each in _full(material.network).items()}
        network = dict(material.oracle.network)
    return replace(tuned, weights=weights, network=network, training={**tuned.training, **facts})


def network_of(checkpoint: Checkpoint) -> LightNetwork:
    """Return the modules of a checkpoint without its oracle, for vectors that are at hand."""
    tokens = len(checkpoint.weights["light.table.weight"])
    special = special_ids(checkpoint.need_tokenizer())
    model = LightNetwork(checkpoint.settings, None, tokens, special)
    own = {name: each for name, each in checkpoint.weights.items() if name.startswith("light.")}
    return trained(model, own)


def light_vectors(model: LightNetwork, texts: Padded) -> tuple[Tensor, Tensor | None]:
    """Return the light vectors and weights of some texts; see `LightModules`."""
    attended = model.attended(texts.ids, texts.present)
    found: tuple[Tensor, Tensor | None] = model.light(texts.ids, attended, texts.context)
    return found


def vectors_of(
    model: LightNetwork, texts: TokenVectors, numbers: Sequence[int]
) -> list[NDArray[np.float32]]:
    """Return the light vectors of texts that have one in MaxSim, each (tokens, dimension)."""
    lengths = [len(texts.of(number)[0].ids) for number in numbers]
    order = np.argsort(lengths, kind="stable")
    vectors: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(order)
    with torch.inference_mode():
        for begin in range(0, len(order), EVALUATED):
            block = order[begin : begin + EVALUATED].tolist()
            padded = texts.padded([numbers[at] for at in block])
            made, _ = light_vectors(model, padded)
            for at, own, kept in zip(block, made, padded.kept, strict=True):
                vectors[at] = own[kept].numpy()
    return vectors


def document_vectors(
    model: LightNetwork, texts: TokenVectors, numbers: Sequence[int]
) -> list[NDArray[np.float32]]:
    """Return the vectors that documents have, light ones or the oracle's."""
    if model.light.settings.documents == "light":
        return vectors_of(model, texts, numbers)
    return [texts.tokens([number])[1].astype(np.float32) for number in numbers]


def pool_mrr(model: LightNetwork, material: Material) -> float:
    """Return MRR@10 of ranking the pool by MaxSim."""
    pool = material.texts.pool
    places = material.documents_at(pool.numbers)
    documents = document_vectors(model, material.documents, places)
    store = TokenStore.of(documents, MEASURED, model.light.settings.dimension)
    everything = np.arange(len(store))
    queries = vectors_of(model, material.pool_queries, range(len(material.pool_queries)))
    return pool.mrr_of_scores(
        store.scores(quantise_query(query, MEASURED), everything) for query in queries
    )


def _fine_tuned(
    model: LightNetwork, settings: SRMSettings, material: Material, options: Options
) -> Checkpoint:
    """Return the checkpoint after fine-tuning, or at once if there is nothing to fine-tune."""
    texts = material.texts
    learns = any(each.requires_grad for each in model.parameters())
    if not options.fine_tune or not learns:
        if options.fine_tune:
            _log.info("nothing is fine-tuned, because there is only the table, which is frozen")
        return texts.unchanged(KIND, settings, model, pool_mrr(model, material), options)

    def loss(batch: Batch) -> Tensor:
        own, light = score_margins(model, material, batch)
        taught = own
        if material.margins is not None:
            taught = torch.from_numpy(material.margins.of(batch))
        return margin_mse(light, taught)

    def evaluate() -> float:
        return pool_mrr(model, material)

    return texts.learn(KIND, settings, model, loss, evaluate, label="fine-tuning", options=options)


def score_margins(model: LightNetwork, material: Material, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the score margins of a batch's queries, the oracle's and the light ones."""
    queries = material.queries.padded(batch.queries.tolist())
    documents = material.documents.padded(material.documents_at(batch.documents))
    light, _ = light_vectors(model, queries)
    of_documents = documents.context
    if model.light.settings.documents == "light":
        of_documents, _ = light_vectors(model, documents)
    margins = [
        paired(query, document, queries.kept, documents.kept)
        for query, document in ((queries.context, documents.context), (light, of_documents))
    ]
    return margins[0].detach(), margins[1]


def paired(queries: Tensor, documents: Tensor, kept: Tensor, read: Tensor) -> Tensor:
    """Return each query's MaxSim with its own document less that with its other one, (queries,).

    Args:
        queries: (queries, query tokens, dimension) float32.
        documents: (2 × queries, tokens, dimension) float32, the relevant ones first.
        kept: which tokens of the queries have a vector, (queries, query tokens) bool.
        read: which tokens of the documents have one, (documents, tokens) bool.
    """
    count = len(queries)
    twice, both = queries.repeat(2, 1, 1), kept.repeat(2, 1)
    products = torch.einsum("nid,njd->nij", twice, documents)
    best = products.masked_fill(~read[:, None, :], -torch.inf).amax(2)
    best = best.masked_fill(~read.any(1)[:, None], 0.0)
    scores = (best * both).sum(1)
    return scores[:count] - scores[count:]


def _needed(texts: EncoderTexts, options: Options) -> Numbers:
    """Return the numbers of the documents whose vectors are needed, ascending."""
    count = len(texts.pairs.ids)
    if not options.distil_texts or options.distil_texts >= count:
        return np.arange(count)
    rng = np.random.default_rng((options.seed, 1))
    chosen = [rng.permutation(count)[: options.distil_texts], texts.pool.numbers]
    if options.fine_tune:
        chosen += [batch.documents for batch in _drawn(texts, options)]
    return np.unique(np.concatenate(chosen))


def _drawn(texts: EncoderTexts, options: Options) -> list[Batch]:
    """Return the batches that fine-tuning draws if nothing ends it earlier."""
    length = planned(options, len(texts.pairs.batches(0)))
    batches: list[Batch] = []
    for epoch in range(math.ceil(length.epochs)):
        left = length.steps - epoch * length.per_epoch
        batches += texts.pairs.batches(epoch)[: left * options.accumulation]
    return batches


def _template(tokenizer: "Tokenizer", layout: TokenLayout) -> tuple[list[int], int]:
    """Return the row of a document of one token, and the place of this token."""
    row = layout.row(tokenizer.encode("a").ids, "document")
    special = set(special_ids(tokenizer))
    return row.ids, next(at for at, id_ in enumerate(row.ids) if id_ not in special)


def _sample_tokens(
    source: TokenVectors, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
    """Return the tokens of texts that are drawn until there are enough, and their vectors."""
    order = np.random.default_rng((seed, 2)).permutation(len(source))
    lengths = np.cumsum(source.lengths[order])
    return source.tokens(order[: 1 + int((lengths < CLUSTERED).sum())].tolist())


def _full(network: ColBERTNetwork) -> dict[str, NDArray[Any]]:
    return {name: values.numpy() for name, values in network.state_dict().items()}


def _ends_of(losses: Sequence[float]) -> list[float]:
    """Return the mean loss of the first and of the last tenth of the steps, if there are any."""
    tenth = max(1, len(losses) // 10)
    parts = [losses[:tenth], losses[-tenth:]] if losses else []
    return [float(np.mean(part)) for part in parts]
