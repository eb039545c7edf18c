"""Write files and read them as documents."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ranklet.corpus.collections.collection import Document
from ranklet.corpus.sources.options import SourceOptions
from ranklet.corpus.sources.source import Source, Texts
from ranklet.runtime.ground.errors import RankletError

CATS = Document("1", "Cats", "They sleep.")
DOGS = Document("2", "Dogs", "They bark.")


def write(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    """Write a file, compressed if its name says so."""
    data = content.encode(encoding) if isinstance(content, str) else content
    compress: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compress.get(path.suffix, bytes)(data))
    return path


def read(texts: Texts, **options: Any) -> list[Document]:
    """Return the documents without metadata, unless the options keep it."""
    return list(Source(texts, SourceOptions(**{"metadata": "none", **options})).documents())


def announced(texts: Texts, **options: Any) -> str:
    """Return what a source says of its columns."""
    said: list[str] = []
    list(Source(texts, SourceOptions(**options), said.append).documents())
    return "\n".join(said)


def refused(texts: Texts, **options: Any) -> str:
    """Return the message of a source that cannot be read."""
    with pytest.raises(RankletError) as raised:
        read(texts, **options)
    return str(raised.value)
