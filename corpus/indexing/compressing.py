"""Compress strings one by one, with a dictionary that small changes of a collection leave as it is.

So an update need not compress again what stays.
"""

import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranklet.corpus.indexing.packer import packed
from ranklet.corpus.processes import Work, cut_blocks, each
from ranklet.runtime.storage.strings import (
    MOST_DICTIONARY,
    CompressedStrings,
    Strings,
    most_inflated,
)

_LEVEL = 3  # zlib's; 4 takes a tenth more time and saves nothing, 6 saves 4 % in 1.8 times its time
_SAMPLES, _SHARE = 128, 4  # strings in a dictionary, and its bytes per string of the collection


def make_dictionary(keys: Strings, strings: Strings) -> bytes:
    """Return the beginnings of some strings, those whose keys have the lowest checksums.

    Args:
        keys: the ids of the documents.
        strings: their texts.
    """
    length = min(MOST_DICTIONARY, _SHARE * len(keys)) // _SAMPLES  # bytes
    if not length:
        return b""
    checksums = np.fromiter((zlib.crc32(keys.raw(at)) for at in range(len(keys))), np.uint32)
    chosen = np.argsort(checksums, kind="stable")[:_SAMPLES].tolist()
    return b"".join(strings.raw(at)[:length] for at in chosen)


def compressed(
    strings: Strings, dictionary: bytes, go_on: Callable[[], bool] = lambda: True
) -> CompressedStrings:
    """Return strings that are compressed with a dictionary, themselves if they are already.

    Args:
        strings: the strings.
        dictionary: what every stream may refer to.
        go_on: whether the result is still wanted; if not, the rest is left out.
    """
    if isinstance(strings, CompressedStrings) and strings.dictionary == dictionary:
        return strings
    ends = array("q", [0])

    def pieces() -> Iterator[NDArray[np.uint8]]:
        settings = {"dictionary": dictionary.decode("latin-1")}
        numbers = takewhile(lambda _: go_on(), range(len(strings)))
        blocks = cut_blocks(map(strings.raw, numbers))
        for streams in each(open_deflater, settings, blocks, strings.data.nbytes, spared=1):
            ends.extend(accumulate(map(len, streams), initial=ends.pop()))
            yield np.frombuffer(b"".join(streams), np.uint8)

    data = packed(pieces(), np.uint8)  # also completes `ends`
    return CompressedStrings(data, np.frombuffer(ends, np.int64), dictionary)


def open_deflater(settings: Mapping[str, Any]) -> Work:
    """Return what compresses strings, one by one."""
    dictionary = settings["dictionary"].encode("latin-1")
    # Copied for each string, because reading the dictionary again would take longer.
    start = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS, zdict=dictionary)
    return lambda strings: [_deflated(string, start) for string in strings]


def _deflated(string: bytes, start: Any) -> bytes:
    compressor = start.copy()
    stream: bytes = compressor.compress(string) + compressor.flush()
    if len(string) <= most_inflated(len(stream)):
        return stream
    plain = zlib.compressobj(0, wbits=-zlib.MAX_WBITS)  # it would be taken for a hostile one
    return plain.compress(string) + plain.flush()
