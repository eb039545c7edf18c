"""What other systems than Linux lack is hidden, and a search is built, read and served by Python.

This shows that nothing there is imported or called that macOS or Windows does not have. It does not
show how their file systems behave.
"""

import subprocess
import sys
from pathlib import Path

import pytest

HIDE = {
    "macOS": "hidden = ('sched_getaffinity', 'renameat2', 'memfd_create')",
    "Windows": """
hidden = ('sched_getaffinity', 'fork', 'forkpty', 'getuid', 'geteuid', 'getgid', 'sysconf', 'uname')
# fcntl stays, because the locks of writers choose by os.name.
for name in ('resource', 'pwd', 'grp', 'termios', 'posix_ipc'):
    sys.modules[name] = None
""",
}
SCRIPT = """
for name in hidden:
    if hasattr(os, name):
        delattr(os, name)
import io  # neither has Linux's files of processes and control groups
real = io.open
def opened(path, *args, **options):
    if str(path).startswith(('/proc', '/sys')):
        raise FileNotFoundError(path)
    return real(path, *args, **options)
io.open = opened
import ranklet
from ranklet.commands import main
records = [{'id': '7', 'text': 'Cats sleep all day.'}, {'id': '8', 'text': 'Dogs bark.'}]
ranklet.build(records, 'pets.ranklet')
ranklet.build(records, 'pets.zip')
for path in ('pets.ranklet', 'pets.zip'):
    bundle = ranklet.load(path)
    assert bundle.rank('sleeping cat', explain=True)[0].id == '7'
assert main(['verify', 'pets.ranklet']) == 0
assert main(['rank', 'pets.zip', 'dogs']) == 0
import ranklet.handlers.http
"""


@pytest.mark.parametrize("system", HIDE)
def test_a_search_is_built_and_ranked_without_what_only_linux_has(
    system: str, tmp_path: Path
) -> None:
    # What knows that it runs on Linux asks it for more, so it is imported first.
    code = f"import asyncio, os, subprocess, sys\nimport numpy\n{HIDE[system]}\n{SCRIPT}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Dogs bark" in done.stdout
