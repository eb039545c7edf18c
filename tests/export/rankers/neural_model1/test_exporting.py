"""Neural Model 1: its sparse table, and its network, are proven against PyTorch."""

from tests.kinds import TinyRankers

from ranklet.export.proof.report import read_reports


def test_every_variant_is_proven(tiny: TinyRankers) -> None:
    reports = read_reports(tiny.exported("neural_model1"))["neural"]
    assert [each.variant for each in reports] == ["table", "fp32", "fp16"]
    for report in reports:
        assert report.batch_error < 1e-5  # the comparison's own rounding
        assert report.pairs > 500


def test_the_sparse_table_scores_as_the_network_does(tiny: TinyRankers) -> None:
    table, network = read_reports(tiny.exported("neural_model1"))["neural"][:2]
    assert network.max_error < 1e-3  # rounding: 1e-5 on some processors, 1.4e-4 on others
    assert table.ndcg >= table.torch_ndcg - 0.02
