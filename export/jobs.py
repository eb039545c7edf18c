"""What the export of one ranker is given, and what all kinds do with it."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ranklet.corpus.building.writer import BundleWriter
from ranklet.corpus.collections.probes import Probes
from ranklet.export.errors import ExportError
from ranklet.export.options import ExportOptions
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.onnx.encoder import TOKENIZER
from ranklet.runtime.onnx.parity import PARITY
from ranklet.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ranklet.export.onnx.whole import Whole


@dataclass(frozen=True)
class ExportJob:
    """A checkpoint that becomes a ranker of a bundle.

    Attributes:
        checkpoint: what was trained or imported.
        name: the ranker's name in the bundle.
        writer: the writer of the bundle.
        options: the variants to make, and their tolerances.
        whole: what the checkpoint lacks of the tokens that are written; None if it lacks none.
    """

    checkpoint: Checkpoint
    name: str
    writer: BundleWriter
    options: ExportOptions
    whole: "Whole | None" = None

    @property
    def folder(self) -> str:
        """The ranker's folder in the bundle."""
        return f"rankers/{self.name}/"

    @property
    def parity(self) -> str:
        """The file with outputs for other programs to compare theirs with."""
        return self.folder + PARITY

    @property
    def settings(self) -> Any:
        """The checkpoint's settings."""
        return self.checkpoint.settings

    def entry(self, settings: Any = None) -> RankerEntry:
        """Return the ranker's entry with the checkpoint's settings, or with others."""
        return RankerEntry(self.checkpoint.kind, asdict(settings or self.settings))

    def probes(self) -> Probes:
        """Return the texts that the variants are proven on, at least `LEAST_QUERIES`.

        Raises:
            ExportError: neither the options nor the checkpoint have any.
        """
        probes = self.options.probes or self.checkpoint.probes
        if probes is None:
            raise ExportError(
                f"{self.name!r} has no probes to prove its variants on; give --probes COLLECTION"
            )
        return probes.completed()

    def tokenizer(self) -> "Tokenizer":
        """Return the tokenizer, whose ids all have a row of the embeddings.

        Raises:
            ExportError: there is no tokenizer, or it has more tokens than the embeddings have rows.
        """
        tokenizer = self.checkpoint.tokenizer
        if tokenizer is None:
            raise ExportError(f"the checkpoint of {self.name!r} has no tokenizer; train it again")
        size, rows = tokenizer.get_vocab_size(), self.checkpoint.network.get("vocab_size")
        if rows is not None and size > rows:
            raise ExportError(
                f"the tokenizer of {self.name!r} has {size:,} tokens, but the network's embeddings "
                f"have {rows:,} rows: it is not the model's own tokenizer"
            )
        return tokenizer

    def write_tokenizer(self) -> None:
        """Write the tokenizer into the ranker's folder."""
        written = self.whole.tokenizer if self.whole else self.tokenizer()
        self.writer.data(self.folder + TOKENIZER, written.to_str().encode())

    def restored(self, model: bytes) -> bytes:
        """Return a model of ONNX with all tokens that are written."""
        return self.whole.restored(model) if self.whole else model
