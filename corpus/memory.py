"""Give memory back that a library has used for a while."""

import ctypes
import gc
import os


def release() -> None:
    """Free what is not used any more, and give it back to the system.

    Networks and graphs are full of cycles, which are only freed now and then. What a tokenizer or a
    graph has in small parts stays with the C library, where this is glibc.
    """
    gc.collect()
    if os.name == "posix" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
