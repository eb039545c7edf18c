"""``python -m ranklet`` is the command ``ranklet``."""

import sys

from ranklet.commands import main

if __name__ == "__main__":
    sys.exit(main())
