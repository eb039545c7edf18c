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
hidden = (
    'sched_getaffinity', 'fork', 'forkpty', 'getuid', 'geteuid', 'getgid', 'sysconf', 'uname',
    'pread', 'pwrite', 'O_CLOEXEC', 'mkfifo', 'killpg', 'getpgid', 'setsid', 'sendfile',
    'renameat2', 'memfd_create', 'posix_fadvise', 'fchmod', 'chown',
)
for name in ('fcntl', 'resource', 'pwd', 'grp', 'termios', 'posix_ipc', 'readline', 'syslog'):
    sys.modules[name] = None
import types
msvcrt = sys.modules['msvcrt'] = types.ModuleType('msvcrt')
msvcrt.LK_NBLCK, msvcrt.locking = 2, lambda descriptor, mode, size: None
import signal
for name in ('SIGKILL', 'SIGHUP', 'SIGALRM', 'SIGUSR1', 'SIGCHLD', 'pthread_sigmask'):
    delattr(signal, name)
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
import importlib, pkgutil
for package in ('runtime', 'handlers', 'commands'):
    where = importlib.import_module(f'ranklet.{package}').__path__
    for module in pkgutil.walk_packages(where, f'ranklet.{package}.'):
        importlib.import_module(module.name)
ranklet.update('pets.ranklet', delete=['8'])
assert len(ranklet.load('pets.ranklet')) == 1
if not sys.modules.get('fcntl', True):
    try:
        ranklet.load('https://127.0.0.1:9/pets.zip')
    except ranklet.runtime.ground.errors.InputError as error:
        assert 'download the .zip' in str(error), error
"""


@pytest.mark.slow
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
