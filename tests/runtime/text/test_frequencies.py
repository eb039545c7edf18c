import numpy as np

from ranklet.runtime.text.frequencies import decode_counts, encode_counts


def test_counts_are_exact_while_they_are_small_and_then_close() -> None:
    counts = np.append(np.arange(2000), np.geomspace(2000, 6e6, 500).astype(np.int64))
    codes = encode_counts(counts)
    assert codes.dtype == np.uint8
    assert (np.diff(codes.astype(np.int64)) >= 0).all()
    found = decode_counts(codes)
    np.testing.assert_array_equal(found[:128], counts[:128])
    np.testing.assert_allclose(found, counts, rtol=0.05)
