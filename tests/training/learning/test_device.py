import pytest
import torch

from ranklet.training.learning.device import autocast, one_thread


def test_the_number_of_threads_is_restored() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


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
