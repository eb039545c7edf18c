"""The settings of a ColBERT, and the names of its files in a bundle."""

from dataclasses import dataclass

from ranklet.runtime.ground.options import MOST_TEXT, integer, one_of, switch, text
from ranklet.runtime.kinds import Settings

# Names of the graph's inputs, (batch, tokens) int64, and of its output, (batch, tokens, dimension)
# float32. An encoder without token types has no third input.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "token_vectors"

# The files of the kind in rankers/NAME/, next to the tokenizer and the variants of the graph.
OFFSETS = "vectors.offsets.npy"  # (documents + 1,) int64
VALUES = "vectors.values.npy"  # (vectors, dimension) int8 or int16
SCALES = "vectors.scales.npy"  # > 0, (vectors,) float32

SIMILARITIES = ("cosine", "dot")
EXPANSIONS = ("none", "unattended", "attended")
STORED = ("int8", "int16")  # types of stored numbers
MASKS = ("[MASK]", "<mask>")  # BERT's, and RoBERTa's
MOST_TOKENS = 8192
FEWEST_TOKENS = 4  # [CLS], a marker, a token and [SEP]


@dataclass(frozen=True)
class ColBERTSettings(Settings):
    """What is read of queries and documents, which tokens get a vector, and how it is stored.

    Token limits count special tokens and markers.

    Attributes:
        expansion: what fills a query up to its limit: nothing, or tokens `expansion_token` that
            the other tokens attend to or not. They have vectors in both cases.
        skipped: spellings of tokens, separated by spaces.
    """

    max_query_tokens: int = integer(32, "tokens read of a query", FEWEST_TOKENS, MOST_TOKENS)
    max_document_tokens: int = integer(180, "tokens read of a document", FEWEST_TOKENS, MOST_TOKENS)
    dimension: int = integer(128, "dimension of the vectors", 1, 4096)
    similarity: str = one_of("cosine", SIMILARITIES, "of two vectors; cosine normalises them")
    query_prompt: str = text("", "text before every query", MOST_TEXT)
    document_prompt: str = text("", "text before every document", MOST_TEXT)
    query_marker: str = text("", "token after [CLS] of every query; empty for none", MOST_TEXT)
    document_marker: str = text(
        "", "token after [CLS] of every document; empty for none", MOST_TEXT
    )
    expansion: str = one_of("none", EXPANSIONS, "tokens that fill every query up to its limit")
    expansion_token: str = text(MASKS[0], "the token of the expansion", MOST_TEXT)
    skipped: str = text("", "tokens of documents that get no vector", MOST_TEXT)
    special_tokens: bool = switch(True, "whether [CLS], [SEP] and markers get vectors")
    stored: str = one_of("int8", STORED, "how the vectors of documents are stored")

    @property
    def element(self) -> str:
        """The type of a stored number, int8 or int16."""
        return self.stored
