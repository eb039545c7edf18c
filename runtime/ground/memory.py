"""How much memory this process holds, and how much it may hold."""

import os
from contextlib import suppress
from pathlib import Path


def resident_bytes() -> int:
    """Return the resident memory of this process, or 0 if the system does not report it."""
    # Only Linux has the file, and Windows has no sysconf either.
    with suppress(OSError, ValueError, IndexError, AttributeError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def count_granted_bytes() -> int:
    """Return the memory of this machine or of its control group, or 0 if nothing says it."""
    found = []
    with suppress(OSError, ValueError, AttributeError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):  # of versions 2 and 1
        with suppress(OSError, ValueError):
            found.append(int((Path("/sys/fs/cgroup") / limit).read_text()))
    return min(found, default=0)


def peak_bytes() -> int:
    """Return the largest resident memory since `forget_peak`, or 0 if nothing says it."""
    with suppress(OSError, ValueError):
        words = Path("/proc/self/status").read_text().split()
        return 1024 * int(words[words.index("VmHWM:") + 1])
    return 0


def forget_peak() -> None:
    """Let `peak_bytes` begin with the memory that this process holds now, where Linux can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
