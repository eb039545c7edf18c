"""The bundles of the three architectures, which the tests of the index make, too."""

from tests.corpus.rankers.conformer_kernel.conftest import checkpoints, exported, indexed, whole

__all__ = ["checkpoints", "exported", "indexed", "whole"]
