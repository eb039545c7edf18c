"""Let the C library keep what a training frees, because every step needs as much memory again."""

import ctypes
import os
import platform

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # parameters of mallopt(3)
LARGEST = 2**31 - 1  # bytes; mallopt takes an int
# Who sets one of these has decided about the allocator.
DECIDED = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")


def keep_freed_memory() -> bool:
    """Let glibc neither return freed memory to the system nor map large blocks one by one.

    Otherwise each step of a training on a processor maps its tensors anew, and the system clears
    their pages. That took up to 40 % of a training's time. The process keeps its largest size.

    Returns:
        Whether the setting was made. It is not made with other C libraries, or if the environment
        sets the allocator.
    """
    if platform.libc_ver()[0] != "glibc" or any(name.startswith(DECIDED) for name in os.environ):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    kept, mapped = mallopt(TRIM_THRESHOLD, LARGEST), mallopt(MMAP_MAX, 0)
    return bool(kept and mapped)
