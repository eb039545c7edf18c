"""BM25: retrieve by words, with k1 and b chosen on a grid."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from ranklet.runtime.ground.options import Idle, number
from ranklet.runtime.rankers.bm25 import BM25Settings
from ranklet.training.learning.options import FieldOptions


@dataclass(frozen=True, kw_only=True)
class Options(FieldOptions):
    """Options of BM25.

    The grid covers published values: Anserini's for MS MARCO are k1 .82 to 4.46 and b .68 to .87,
    and short passages need lower ones. Finer steps change nDCG@10 by less than its noise.
    """

    GROUP = "bm25"
    IDLE: ClassVar[Idle] = {"tokenizer": ("field", "words", "lemmas")}

    field: str = "lemmas"
    title_boost: float = number(1.0, "how often each word of a title counts", 1, 100)
    k1_grid: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9, 1.2, 1.6, 2.0, 3.0)
    b_grid: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.75, 0.9)
    boost_grid: tuple[float, ...] = ()  # of titles; empty for `title_boost` alone
    fields: Mapping[str, float] | None = None  # of the bundle; their weights are tuned, too
    weight_grid: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.need_tokenizer(self.field)
        self.words.need_words(self.field)
        for k1, b, boost in product(self.k1_grid, self.b_grid, self.boosts):
            # This checks them.
            BM25Settings(self.field, k1, b, boost, fields=self.fields).check_titles(self.titles)

    @property
    def boosts(self) -> tuple[float, ...]:
        """The title boosts that are tried."""
        return self.boost_grid or (self.title_boost,)
