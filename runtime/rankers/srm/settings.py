"""The settings of light contextualisation, and the names of its files in a bundle.

Source: Boualili 2022, "Deep learning for information retrieval", chapter 8.
"""

from dataclasses import dataclass

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import integer, one_of, switch
from ranklet.runtime.rankers.colbert.settings import (
    MOST_TOKENS,
    SIMILARITIES,
    STORED,
    ColBERTSettings,
)

# The files of the kind in rankers/NAME/, next to the tokenizer, the variants of the graph, and the
# vectors of a ColBERT unless codes are stored.
TABLE = "table.npy"  # (vocabulary, sub-embeddings, dimension) int8
TABLE_SCALES = "table.scales.npy"  # > 0, (vocabulary, sub-embeddings) float32
IDF = "idf.npy"  # > 0, of each token in the collection, (vocabulary,) float32
CODE_OFFSETS = "codes.offsets.npy"  # (documents + 1,) int64
CODE_TOKENS = "codes.tokens.npy"  # (tokens,) uint16 or uint32
CODE_WEIGHTS = "codes.weights.npy"  # (tokens, `code_width`) uint8, if that is not 0

# The graph's input besides those of a ColBERT: the static vectors of the tokens, (batch, tokens,
# sub-embeddings, dimension) float32.
STATIC = "static"
# Its second output if weights depend on the context, (batch, tokens, sub-embeddings) float32.
WEIGHTS_OUTPUT = "sub_embedding_weights"

MIXINGS = ("attention", "average", "top1")
CONTEXTS = ("oracle", "neighbours")
CODES = "codes"  # a stored form: token ids, and the weights of their sub-embeddings


@dataclass(frozen=True, kw_only=True)
class LightForm:
    """How the vectors of tokens are made of static ones.

    Attributes:
        sub_embeddings: static vectors of each token of the vocabulary, K.
        mixing: how they become one: by attention (SRM), their mean (SRM-Avg) or the one with the
            most attention (SRM-Top1).
        window: neighbours on each side that a token's vector is refined by (LCM); 0 for none, and
            a window as long as the text for all of it.
        context: what the attention queries are: vectors of the oracle, which is a network, or a
            linear map of the static vectors of neighbours.
        idf: whether each token of a query weighs as much as it is rare in the collection.
    """

    sub_embeddings: int = integer(10, "static vectors per token, K", 1, 255)
    mixing: str = one_of("attention", MIXINGS, "mix of K vectors: attention, average or top1")
    window: int = integer(1, "neighbours on each side that refine a vector", 0, MOST_TOKENS)
    context: str = one_of("oracle", CONTEXTS, "what attends: the oracle, or static neighbours")
    idf: bool = switch(False, "weigh the tokens of a query by their rarity")


@dataclass(frozen=True)
class SRMSettings(LightForm, ColBERTSettings):
    """The settings of a light ranker; `stored` is one of the forms of a ColBERT, or `CODES`."""

    similarity: str = one_of("dot", SIMILARITIES, "of two vectors; cosine normalises them")
    special_tokens: bool = switch(False, "whether [CLS], [SEP] and markers get vectors")
    stored: str = one_of("int8", (*STORED, CODES), "how the vectors of documents are stored")

    def __post_init__(self) -> None:
        """Check every value."""
        super().__post_init__()
        if self.window and self.dimension % 2:
            raise InputError(
                f"neighbours refine half of a vector, but {self.dimension} numbers have no two "
                "halves; choose the window 0"
            )
        if self.expansion != "none":
            raise InputError("light vectors have no expansion of the query; choose none")
        if self.stored == CODES and self.window:
            raise InputError(
                f"{CODES} store sub-embeddings, which are the whole vector only with the window 0; "
                "choose another stored form"
            )

    @property
    def element(self) -> str:
        """The type of a stored number, int8 or int16; codes are decoded to int16."""
        return "int16" if self.stored == CODES else self.stored

    @property
    def mixes(self) -> bool:
        """Whether the weights of sub-embeddings depend on the context."""
        return self.sub_embeddings > 1 and self.mixing != "average"

    @property
    def needs_context(self) -> bool:
        """Whether light vectors depend on anything but the token."""
        return self.mixes or self.window > 0

    @property
    def static(self) -> bool:
        """Whether no oracle, which is a network, reads the texts."""
        return self.context == "neighbours" or not self.needs_context

    @property
    def code_width(self) -> int:
        """Stored bytes of a token in addition to its id.

        These are a weight per sub-embedding, the number of the one, or nothing if the token
        determines its vector.
        """
        if not self.mixes:
            return 0
        return 1 if self.mixing == "top1" else self.sub_embeddings
