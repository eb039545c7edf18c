"""What only `verify` looks at."""

from pathlib import Path

import pytest
from tests.damage import graph, replace_file

from ranklet.runtime.bundle import Bundle
from ranklet.runtime.ground.errors import BundleError
from ranklet.runtime.rankers.verification import verify
from ranklet.workflows.build import build


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model_fp16.onnx", graph("secret"), "values are in another file"),
        ("model_openvino.xml", graph("secret"), "it is no XML"),
    ],
)
def test_a_model_that_does_not_run_here_must_not_name_files_either(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = Path(build([{"id": "1", "text": "dough bread"}], tmp_path / "bundle"))
    replace_file(path, f"rankers/bm25/{name}", content)
    assert Bundle(path).rank("dough")
    with pytest.raises(BundleError, match=message):
        list(verify(path))
