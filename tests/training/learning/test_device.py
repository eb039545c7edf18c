import pytest
import torch

from ranklet.training.learning.device import autocast


@pytest.mark.parametrize(
    ("capabilities", "fast"),
    [
        ({"amx_bf16": True, "avx512_bf16": True}, True),
        ({"amx_bf16": False, "avx512_bf16": True}, True),
        ({"amx_bf16": False, "avx512_bf16": False}, False),
        ({}, False),
    ],
)
def test_bfloat16_is_used_where_the_processor_multiplies_it(
    capabilities: dict[str, bool], fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: capabilities, raising=False)
    for wanted in (True, False):
        with autocast(torch.device("cpu"), wanted):
            assert torch.is_autocast_enabled("cpu") == (fast and wanted)
