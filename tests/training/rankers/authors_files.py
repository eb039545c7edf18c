"""The files of the papers' authors, for the tests that run them; RANKLET_AUTHORS names the folder.

It has clones, which nothing here fetches, because their licences are their own:

    git clone https://github.com/bmitra-msft/TREC-Deep-Learning-Quick-Start
    git clone https://github.com/Georgetown-IR-Lab/OpenNIR
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest


def authors_module(path: str, name: str, **others: Any) -> Any:
    """Return a module of the authors, or skip the test where it is not.

    Args:
        path: its file in the folder.
        name: what others import it as.
        others: modules that it imports, of the authors' too, by name.
    """
    file = Path(os.environ.get("RANKLET_AUTHORS", "/nowhere")) / path
    if not file.is_file():
        pytest.skip(f"RANKLET_AUTHORS has no {path}")
    specification = importlib.util.spec_from_file_location(name, file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patch:
        for other, each in others.items():
            patch.setitem(sys.modules, other, each)
        specification.loader.exec_module(module)
    return module
