"""The network of TKL: TK for long documents, with local attention and the best regions.

Source: Hofstätter, Zamani, Mitra, Craswell & Hanbury, SIGIR 2020.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ranklet.runtime.rankers.conformer_kernel.network import PADDING, UNKNOWN
from ranklet.training.learning.device import full_precision
from ranklet.training.rankers.conformer_kernel.kernel_pooling import cosines
from ranklet.training.rankers.conformer_kernel.network import PairNetwork
from ranklet.training.rankers.tk.kernels import (
    best_regions,
    cut_windows,
    kernel_centres,
    saturated,
    window_counts,
)
from ranklet.training.rankers.tk.network import TransformerEncoder, kernel_weights
from ranklet.training.rankers.tk.options import TKNetwork

# The first a, b and c of the saturation, which is then close to ln x. The larger they are, the less
# do steps of training change the function.
_FIRST = 10.0


class LongTransformerKernel(PairNetwork):
    """TKL: kernels in sliding windows, of which the best few that share no term count.

    Memory is linear in the length of a document. Windows are chosen by the sum over query terms,
    and each query term has its share of the chosen ones, so the score is the sum of the outputs. A
    word that the network does not know matches none.
    """

    def __init__(self, sizes: TKNetwork) -> None:
        super().__init__()
        self.encoder = TransformerEncoder(sizes)
        self.chunk, self.overlap = sizes.chunk, sizes.overlap
        self.window, self.stride = sizes.window, sizes.stride
        self.centres: Tensor
        self.register_buffer("centres", kernel_centres(sizes.kernels), persistent=False)
        self.kernel_weights = kernel_weights(sizes.kernels)
        self.salience = nn.Linear(sizes.hidden, 1, bias=False)
        self.saturation = nn.Linear(2, 3)  # of salience and length → a, b, c
        nn.init.constant_(self.saturation.bias, _FIRST)
        self.region_weights = nn.Parameter(torch.ones(sizes.regions))

    def forward(self, query_rows: Tensor, document_rows: Tensor) -> Tensor:
        """Return the share of each query term in the score, 0 at padding; see `PairNetwork`."""
        by_window, exists = self.window_scores(query_rows, document_rows)
        with full_precision(by_window.device):
            chosen = best_regions(
                by_window.sum(1), exists, len(self.region_weights),
                size=self.window, stride=self.stride,
            )  # fmt: skip
            weights = (chosen * self.region_weights.reshape(1, -1, 1)).sum(1)  # (batch, windows)
            scores: Tensor = (by_window * weights.unsqueeze(1)).sum(2)
        return scores

    def window_scores(self, query_rows: Tensor, document_rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the score of each query term in each window, and which windows exist.

        Returns:
            (batch, query terms, windows) float32, and (batch, windows) bool.
        """
        queries = self.encoder.contextual(query_rows).float()
        documents, rows = self.local(document_rows)
        plain = self.encoder.plain(query_rows).float()
        with full_precision(documents.device):
            sizes = {"size": self.window, "stride": self.stride}
            counts = window_counts(
                cosines(queries, documents), rows > UNKNOWN, self.centres, **sizes
            )
            terms, exists = cut_windows(rows != PADDING, **sizes)
            # Salience is the word's own, as an IDF is, so it comes from the plain embedding.
            salience = self.salience(plain)  # (batch, query terms, 1)
            filled = (terms / self.window).unsqueeze(1)  # (batch, 1, windows)
            of_salience, of_length = self.saturation.weight.unbind(1)
            shape = salience.unsqueeze(3) * of_salience + filled.unsqueeze(3) * of_length
            a, b, c = (shape + self.saturation.bias).split(1, 3)
            by_window: Tensor = saturated(counts, a, b, c) @ self.kernel_weights
        return by_window * (query_rows > UNKNOWN).unsqueeze(2), exists

    def local(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return contextual vectors of terms that each read their chunk and its surroundings.

        Returns:
            Vectors, (batch, chunks × chunk, hidden) float32, and the rows padded to that length.
        """
        batch, width = rows.shape[0], self.chunk + 2 * self.overlap
        chunks = chunk_terms(rows, self.chunk, self.overlap)
        vectors = self.encoder.contextual(chunks.reshape(-1, width)).float()
        inner = slice(self.overlap, self.overlap + self.chunk)
        hidden = vectors.shape[2]
        return (
            vectors[:, inner].reshape(batch, -1, hidden),
            chunks[:, :, inner].reshape(batch, -1),
        )

    def numbers(self, query_terms: int, document_terms: int) -> int:
        """Return the size of the largest matrix of full attention that a pair needs, or 0."""
        chunks = -(-document_terms // self.chunk)
        of_chunk = self.encoder.numbers(self.chunk + 2 * self.overlap)
        return max(self.encoder.numbers(query_terms), chunks * of_chunk)


def chunk_terms(rows: Tensor, size: int, overlap: int) -> Tensor:
    """Return chunks of `size` terms, each with `overlap` terms more on both sides.

    Rows are (batch, n) int64, and chunks (batch, ⌈n / size⌉, size + 2 overlap), with padding where
    the document has no terms.

    >>> chunk_terms(torch.tensor([[5, 6, 7, 8, 9]]), 3, 1).tolist()
    [[[0, 5, 6, 7, 8], [7, 8, 9, 0, 0]]]
    """
    padded = functional.pad(rows, (overlap, size + overlap), value=PADDING)
    begins = torch.arange(0, rows.shape[1], size, device=rows.device).unsqueeze(1)
    places = begins + torch.arange(size + 2 * overlap, device=rows.device)
    return padded[:, places]
