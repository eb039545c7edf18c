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
        "ranklet.training.pretrained.backbone",
        "ranklet.training.checkpoint",
        "ranklet.training.learning.plan",
        "ranklet.training.learning.samplers",
        "ranklet.training.learning.text_pairs",
        "ranklet.training.rankers.bm25",
        "ranklet.training.rankers.model1.training",
        "ranklet.commands.train",
    ],
)
def test_it_does_without_pytorch(module: str) -> None:
    assert loaded(module) == []


def test_this_test_can_fail() -> None:
    assert "torch" in loaded("ranklet.training.learning.loop")
