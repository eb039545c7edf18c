import numpy as np
import pytest
from tests.corpus.evaluation.test_proof_report import REFERENCE, SWAPPED, report

from ranklet.export.options import EXACT, ExportOptions, Tolerance
from ranklet.export.proof.refusal import refusal


def test_a_variant_is_refused_only_if_its_loss_is_significant() -> None:
    loss = report(SWAPPED).ndcg_loss  # 18.45%
    tolerance = Tolerance(min_overlap=0)
    assert refusal(report(SWAPPED), tolerance) == ""  # its standard error is as large as the loss
    assert refusal(report(SWAPPED, loss_error=loss / 1.95), tolerance) == ""
    assert refusal(report(SWAPPED, loss_error=loss / 1.97), tolerance)
    assert refusal(report(SWAPPED, loss_error=0.0), Tolerance(max_ndcg_loss=0.19)) == ""


def test_a_refusal_says_what_to_type() -> None:
    worse = report(SWAPPED, loss_error=0.0123)
    reason = refusal(worse, Tolerance(min_overlap=0))
    assert reason.startswith("nDCG@10 loss 18.45% > 1.00%, and its standard error is 1.23%; pass ")
    assert "--max-ndcg-loss 0.185 to accept it, or --probes" in reason
    assert "--max-ndcg-loss" not in refusal(worse, EXACT)  # which the option does not change


@pytest.mark.parametrize("variant", ["fp32", "fp16", "int8"])
def test_the_largest_error_is_bounded_whatever_the_order_is(variant: str) -> None:
    tolerance = ExportOptions().tolerance(variant)
    limit = tolerance.max_error * float(REFERENCE.std())
    assert refusal(report(REFERENCE + np.float32(0.9 * limit)), tolerance) == ""
    reason = refusal(report(REFERENCE + np.float32(1.1 * limit)), tolerance)
    assert reason.startswith("largest error ")
    assert "largest error" in refusal(report(REFERENCE, max_error=float("nan")), tolerance)
