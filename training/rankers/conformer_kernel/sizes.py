"""Sizes of networks over word forms, which config.json stores; the defaults are Mitra et al.'s."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ranklet.runtime.ground.errors import InputError
from ranklet.runtime.ground.options import (
    Checked,
    Idle,
    check_integer,
    check_one_of,
    integer,
    number,
    one_of,
)
from ranklet.runtime.rankers.conformer_kernel.settings import ARCHITECTURES

if TYPE_CHECKING:
    from ranklet.training.checkpoint import Checkpoint

ATTENTIONS = ("separable", "full")


@dataclass(frozen=True)
class TermSizes(Checked):
    """Sizes of a network over word forms.

    Attributes:
        vocabulary: number of rows of the embeddings, 0 until training has chosen the terms.
        architecture: name of the network, which its settings have, too.
    """

    vocabulary: int = 0
    architecture: str = ""
    hidden: int = integer(256, "size of the embeddings and of every layer", 1)
    layers: int = integer(2, "blocks of the document encoder", 1, flag="--blocks")
    heads: int = integer(32, "attention heads; they divide --hidden", 1)
    attention: str = one_of("separable", ATTENTIONS, "separable, or full")
    kernels: int = integer(10, "kernels of the pooling", 1)
    dropout: float = number(0.2, "dropout rate", 0, 0.99)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("vocabulary", self.vocabulary, 0)
        self.check_multiple(heads=self.heads, halves=2)

    def check_multiple(self, **parts: int) -> None:
        """Raise InputError if `hidden` is no multiple of a number of parts."""
        for name, count in parts.items():
            if self.hidden % count:
                raise InputError(f"hidden is {self.hidden}, no multiple of {count} ({name})")

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """Read a config.json, or raise InputError if it is of another network."""
        try:
            return cls(**{field.name: raw[field.name] for field in fields(cls)})
        except KeyError as error:
            raise InputError(f"the config.json of this checkpoint lacks {error}") from error

    @classmethod
    def of(cls, checkpoint: "Checkpoint") -> Self:
        """Return the sizes of a checkpoint's network.

        Raises:
            InputError: they are of another network, or of another architecture than its settings.
        """
        sizes = cls.from_json(checkpoint.network)
        wanted: str = checkpoint.settings.architecture
        if sizes.architecture != wanted:
            raise InputError(
                f"the network is a {sizes.architecture} and the settings are those of a {wanted}"
            )
        return sizes


@dataclass(frozen=True)
class Network(TermSizes):
    """Sizes of a Conformer-Kernel.

    Attributes:
        architecture: ndrm1, ndrm2 or ndrm3.
    """

    IDLE: ClassVar[Idle] = {"groups": ("width", 0)}

    architecture: str = "ndrm3"
    width: int = integer(31, "terms that a convolution sees, odd or 0 for none", 0)
    groups: int = integer(32, "groups of a convolution; they divide --hidden", 1)
    window: int = integer(300, "terms that are pooled together", 1, flag="--pool-window")
    stride: int = integer(100, "terms from one window to the next", 1, flag="--pool-stride")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("architecture", self.architecture, ARCHITECTURES)
        if self.width and not self.width % 2:
            raise InputError(f"width is {self.width!r}; it must be 0 or an odd number")
        self.check_multiple(groups=self.groups)
        check_integer("stride", self.stride, 1, self.window)
