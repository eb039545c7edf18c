"""The HTTP server as a program: all of its settings are environment variables.

    RANKLET_BUNDLE=search.ranklet python -m ranklet.handlers.http

docs/serving.md lists the routes and the variables.
"""

import sys

from ranklet.runtime.answers.console import printable
from ranklet.runtime.ground.errors import RankletError
from ranklet.runtime.ground.extras import hint_packages


def main() -> int:
    """Serve until SIGTERM or SIGINT. Return 1 if a setting cannot be used."""
    try:
        with hint_packages():
            from ranklet.handlers.server.settings import ServerSettings
            from ranklet.handlers.server.uvicorn_server import serve
        serve(ServerSettings.from_environment())
    except RankletError as error:
        sys.stderr.write(f"ranklet: {printable(str(error))}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
