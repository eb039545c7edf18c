"""Addresses stand where paths may stand, and are not taken for paths."""

from pathlib import Path

from ranklet.runtime.storage.address import Address, is_address, located


def test_addresses_are_recognised_by_their_schemes() -> None:
    for text in ("s3://b/k", "http://h/b", "https://h/b", "HTTPS://h/b"):
        assert is_address(text)
        assert isinstance(located(text), Address)
    for path in ("b.zip", "/s3/b", "gs://b/k", "s3:/b/k", Path("s3://b/k")):
        assert not is_address(path)
        assert located(path) == Path(path).absolute()


def test_messages_do_not_show_signatures() -> None:
    address = Address("https://host/docs/b.zip?signature=secret")
    assert address.shown == "https://host/docs/b.zip"
    assert address.name == "b.zip"
    assert address.absolute() is address
