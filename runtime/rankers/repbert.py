"""RepBERT: one vector a text, the mean of BERT's last layer; inner product; dense retrieval."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ranklet.runtime.errors import InputError
from ranklet.runtime.settings import settings_from

# Names of the graph's inputs, (batch, tokens) int64, and of its output, (batch, dimension) float32.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "sentence_embedding"
QUERY_SEGMENT, DOCUMENT_SEGMENT = 0, 1  # token_type_ids (paper 004, §4.1)


@dataclass(frozen=True)
class Settings:
    """What a RepBERT encoder is made of.

    Attributes:
        max_query_tokens: longer queries are cut, [CLS] and [SEP] counted (paper 004: 20).
        max_document_tokens: longer documents are cut, [CLS] and [SEP] counted (paper 004: 256).
        dimension: of the vectors.
    """

    max_query_tokens: int = 20
    max_document_tokens: int = 256
    dimension: int = 384

    def __post_init__(self) -> None:
        """Check every value."""
        for name, most in (
            ("max_query_tokens", 8192), ("max_document_tokens", 8192), ("dimension", 1 << 16)
        ):
            value = getattr(self, name)
            if type(value) is not int or not 2 < value <= most:
                raise InputError(f"{name} is {value!r}; it must be a whole number, 3 to {most}")

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], where: str) -> "Settings":
        """Read settings; BundleError names `where`."""
        return settings_from(cls, raw, where)
