"""Lexical training works where PyTorch is not installed, and pays for no import of it."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "safetensors", "huggingface_hub")


def loaded(module: str) -> list[str]:
    code = f"import sys, {module}; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    "module",
    [
        "ranklet.training",
        "ranklet.training.backbone",
        "ranklet.training.checkpoint",
        "ranklet.training.plan",
        "ranklet.training.samplers",
        "ranklet.training.text_pairs",
        "ranklet.training.rankers.bm25",
        "ranklet.training.rankers.model1",
        "ranklet.commands.train",
    ],
)
def test_it_does_without_pytorch(module: str) -> None:
    assert loaded(module) == []


def test_this_test_can_fail() -> None:
    assert "torch" in loaded("ranklet.training.loop")
