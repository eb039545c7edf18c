import os
import platform
import subprocess
import sys

import pytest

from ranklet.commands.train import DECIDED

# Prints how many pages were mapped while blocks of 40 MB were filled and freed, one after another.
BLOCKS = """
import resource, sys
from ranklet.commands.train import keep_freed_memory
kept = keep_freed_memory() if sys.argv[1] == "keep" else False
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for block in range(20):
    if block == 1:
        before = faults()
    filled = b"x" * (40 << 20)
    del filled
print(kept, faults() - before)
"""


def mapped(how: str, **variables: str) -> tuple[str, int]:
    free = {name: value for name, value in os.environ.items() if not name.startswith(DECIDED)}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKS, how], env={**free, **variables}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    kept, pages = done.stdout.split()
    return kept, int(pages)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_freed_memory_is_used_again_without_new_pages() -> None:
    kept, pages = mapped("keep")
    assert kept == "True"
    assert pages < mapped("leave")[1] / 4


def test_what_the_environment_says_of_the_allocator_stays() -> None:
    assert mapped("keep", MALLOC_ARENA_MAX="2")[0] == "False"
