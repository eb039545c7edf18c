"""Why a variant is refused: its report is out of tolerance."""

from math import ceil

from ranklet.corpus.evaluation.proof_report import Report
from ranklet.export.options import EXACT, Tolerance

SIGNIFICANT = 1.96  # standard errors that a loss is above 0, for a confidence of 95 %


def refusal(report: Report, tolerance: Tolerance) -> str:
    """Return why a variant is out of tolerance, or "" if it is not."""
    reasons, loss = [], report.ndcg_loss
    if loss > tolerance.max_ndcg_loss and loss > SIGNIFICANT * report.loss_error:
        remedy = (
            f"; pass --max-ndcg-loss {ceil(loss * 1000) / 1000:g} to accept it, or --probes with a "
            "collection of more queries to measure it better"
        )
        reasons.append(
            f"nDCG@10 loss {loss:.2%} > {tolerance.max_ndcg_loss:.2%}, and its standard error is "
            f"{report.loss_error:.2%}{remedy if tolerance != EXACT else ''}"
        )
    if report.overlap < tolerance.min_overlap:
        reasons.append(f"top-10 overlap {report.overlap:.1%} < {tolerance.min_overlap:.1%}")
    if not report.max_error <= tolerance.max_error:  # NaN, too
        reasons.append(
            f"largest error {report.max_error:.1%} of the scores' standard deviation > "
            f"{tolerance.max_error:.1%}"
        )
    if report.batch_error > tolerance.max_batch_error:
        reasons.append(f"batch error {report.batch_error:.2%} > {tolerance.max_batch_error:.2%}")
    return "; ".join(reasons)
