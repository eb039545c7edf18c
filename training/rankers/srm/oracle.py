"""The oracle's vectors of the tokens of many texts, which are computed once and kept."""

import errno
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ranklet.corpus.progress import progress
from ranklet.runtime.call.protocol import Role
from ranklet.runtime.rankers.colbert.encoder import row_feeds
from ranklet.runtime.rankers.colbert.tokens import Row, TokenLayout
from ranklet.runtime.writing.atomic_file import atomic_file
from ranklet.runtime.writing.private_folder import make_private
from ranklet.training.encoders.text_pairs import Tokens
from ranklet.training.rankers.colbert.network import ColBERTNetwork

BLOCK = 32  # texts that the oracle reads at a time
KEPT_EVERY = 64  # blocks that an interruption costs at most


class Padded(NamedTuple):
    """Some texts as matrices, padded at their ends."""

    ids: Tensor  # (texts, tokens) int64
    kept: Tensor  # which tokens have a vector in MaxSim, (texts, tokens) bool
    present: Tensor  # which tokens are no padding, (texts, tokens) bool
    context: Tensor  # the oracle's vectors, (texts, tokens, dimension) float32

    def to(self, device: torch.device) -> "Padded":
        """Return them on a device."""
        return Padded(*(each.to(device) for each in self))


class TokenVectors:
    """The oracle's vectors of all tokens of some texts, special tokens included.

    Args:
        rows: the texts' rows.
        vectors: the vectors of all tokens end to end, (tokens, dimension) float16.
    """

    def __init__(self, rows: Sequence[Row], vectors: NDArray[np.float16]) -> None:
        self._rows, self._vectors = rows, vectors
        self.lengths = np.array([len(row.ids) for row in rows], np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(self.lengths)])

    def __len__(self) -> int:
        return len(self._rows)

    def of(self, number: int) -> tuple[Row, NDArray[np.float16]]:
        """Return the row of a text, and its vectors, (tokens, dimension) float16."""
        begin, end = self._offsets[number : number + 2]
        return self._rows[number], self._vectors[begin:end]

    def padded(self, numbers: Sequence[int]) -> Padded:
        """Return some texts as matrices."""
        found = [self.of(number) for number in numbers]
        longest = max(len(row.ids) for row, _ in found)
        shape = len(found), longest
        ids, kept = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        present = np.zeros(shape, np.bool_)
        context = np.zeros((*shape, self._vectors.shape[1]), np.float32)
        for at, (row, vectors) in enumerate(found):
            ids[at, : len(row.ids)] = row.ids
            present[at, : len(row.ids)] = True
            kept[at, row.kept] = True
            context[at, : len(vectors)] = vectors
        return Padded(*map(torch.from_numpy, (ids, kept, present, context)))

    def tokens(self, numbers: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
        """Return ids and vectors of the tokens of some texts that have a vector in MaxSim."""
        ids, vectors = [np.empty(0, np.int64)], [self._vectors[:0]]
        for number in numbers:
            row, own = self.of(number)
            ids.append(np.array(row.ids, np.int64)[row.kept])
            vectors.append(own[row.kept])
        return np.concatenate(ids), np.concatenate(vectors)


def oracle_vectors(
    oracle: ColBERTNetwork,
    layout: TokenLayout,
    role: Role,
    tokens: Tokens,
    folder: Path | None,
    label: str,
) -> TokenVectors:
    """Return the oracle's vectors of some texts.

    Args:
        oracle: the network, in evaluation mode.
        layout: adds markers.
        role: the role of the texts.
        tokens: the truncated tokens of the texts, without markers.
        folder: vectors are kept here, so that an interrupted run continues; None for nowhere.
        label: the label of the progress bar.
    """
    rows = [layout.row(tokens.row(number), role) for number in range(len(tokens.lengths))]
    lengths = np.array([len(row.ids) for row in rows], np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    shape = int(offsets[-1]), layout.settings.dimension
    order = np.argsort(lengths, kind="stable")
    blocks = [order[begin : begin + BLOCK] for begin in range(0, len(order), BLOCK)]
    if not shape[0]:
        return TokenVectors(rows, np.empty(shape, np.float16))
    file = _File(folder, shape, _digest(oracle, rows))
    vectors = file.values
    with torch.inference_mode():
        for index in progress(range(file.done, len(blocks)), label):
            block = blocks[index].tolist()
            inputs = row_feeds([rows[number] for number in block]).values()
            made = oracle(*map(torch.from_numpy, inputs)).to(torch.float16).numpy()
            for own, number in zip(made, block, strict=True):
                vectors[offsets[number] : offsets[number + 1]] = own[: lengths[number]]
            if (index + 1) % KEPT_EVERY == 0 or index + 1 == len(blocks):
                file.keep(index + 1)
    return TokenVectors(rows, vectors)


class _File:
    """A matrix of float16 in a file, and how many blocks of texts it has."""

    def __init__(self, folder: Path | None, shape: tuple[int, int], digest: str) -> None:
        name = f"oracle.{digest[:16]}"
        self._count: Path | None = None
        self.done = 0
        if folder is not None:
            make_private(folder)
            path, self._count = folder / f"{name}.f16", folder / f"{name}.json"
            if self._count.is_file() and path.is_file():
                self.done = int(json.loads(self._count.read_text()))
        # The mapping outlives the file.
        with path.open("r+b" if self.done else "w+b") if folder else TemporaryFile() as file:
            _reserve(file, shape[0] * shape[1] * np.dtype(np.float16).itemsize)
            self.values = np.memmap(file, np.float16, "r+", shape=shape)

    def keep(self, blocks: int) -> None:
        """Note that so many blocks are in the file."""
        if self._count is not None:
            self.values.flush()
            with atomic_file(self._count) as file:
                file.write(json.dumps(blocks).encode())


def _reserve(file: IO[bytes], size: int) -> None:
    """Give a file its size on the disk, because a full one would end the process at a later write.

    Raises:
        OSError: the disk is full.
    """
    try:
        os.posix_fallocate(file.fileno(), 0, size)
    except (AttributeError, OSError) as error:  # some systems cannot
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG):
            raise
        file.truncate(size)


def _digest(oracle: ColBERTNetwork, rows: Sequence[Row]) -> str:
    """Return a text that changes whenever the vectors would."""
    digest = hashlib.sha256()
    for name, values in sorted(oracle.state_dict().items()):
        digest.update(name.encode() + values.contiguous().numpy().tobytes())
    for row in rows:
        digest.update(np.array([len(row.ids), *row.ids], np.int64).tobytes())
    return digest.hexdigest()
