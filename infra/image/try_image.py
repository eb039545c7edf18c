"""Run the function of an unpacked OCI image as Lambda does, and print its answers and times.

    python infra/image/try_image.py UNPACKED        # from `umoci unpack`; needs root

The files of the image are mounted read-only, only /tmp can be written, and the user has no rights.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.handlers.runtime_api import Function, RuntimeAPI

WARM = 50
# Only this process sees the mounts, and they end with it.
JAIL = """
root=$1; user=$2; shift 2
mount --bind "$root" "$root"
mount -o remount,ro,bind "$root"
mount -t tmpfs tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
exec chroot --userspec="$user" "$root" "$@"
"""
WRITABLE = """
import os, pathlib
assert (os.getuid(), os.getgid()) == (65532, 65532)
def writable(folder):
    try:
        (pathlib.Path(folder) / "written").write_text("x")
    except OSError as error:
        return error.strerror
    return "writable"
print({folder: writable(folder) for folder in ("/", "/var/task", "/opt/ranklet/bundle", "/tmp")})
"""
# All parts of the runtime load in the image, whatever the bundle needs, and they write no files.
PARTS = """
import os, hnswlib, numpy, onnxruntime, tokenizers
print({part.__name__: part.__version__ for part in (numpy, onnxruntime, tokenizers)})
assert os.listdir("/tmp") == [] and not os.path.exists(os.path.expanduser("~/.cache"))
"""


def main(unpacked: Path) -> None:
    """Start the function, send it events, stop it, and print its answers."""
    config = json.loads((unpacked / "config.json").read_text())["process"]
    environment = dict(each.split("=", 1) for each in config["env"])
    user = f"{config['user']['uid']}:{config['user']['gid']}"
    jail = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", JAIL, "sh"]
    jail += [str(unpacked / "rootfs"), user]
    *client, handler = config["args"]
    print("folders", _output([*jail, "/usr/bin/python3", "-c", WRITABLE], environment))
    print("parts  ", _output([*jail, "/usr/bin/python3", "-c", PARTS], environment))
    with RuntimeAPI() as api, tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        with Function(api, Path(folder), handler, [*jail, *client], **environment) as function:
            first = api.invoke({"query": "remove leading whitespace", "k": 3})
            print(f"from exec to the first answer: {_ms(begin):.0f} ms")
            print(json.dumps(first, ensure_ascii=False)[:300])
            times = []
            for _ in range(WARM):
                begin = time.perf_counter()
                api.invoke({"query": "remove leading whitespace", "k": 3})
                times.append(_ms(begin))
            print(f"warm, through the Runtime API: median {sorted(times)[WARM // 2]:.1f} ms")
            event: dict[str, Any] = {
                "version": "2.0",
                "rawPath": "/rank",
                "requestContext": {"http": {"method": "POST"}},
                "body": "{}",
            }
            print("a wrong request:", api.invoke(event))
            for line in function.lines("ready"):
                print("ready:", {name: line[name] for name in ("load_ms", "first_query_ms")})


def _output(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def _ms(begin: float) -> float:
    return (time.perf_counter() - begin) * 1e3


if __name__ == "__main__":
    main(Path(sys.argv[1]))
