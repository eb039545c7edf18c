"""Addresses stand where paths may stand, and are not taken for paths."""

import pickle
from pathlib import Path

import pytest

from ranklet.runtime import load
from ranklet.runtime.ground.errors import BundleError, InputError
from ranklet.runtime.storage.address import (
    Address,
    is_address,
    located,
    on_disk,
    raw_text,
    shown,
    writable,
)


def test_addresses_are_recognised_by_their_schemes() -> None:
    for text in ("s3://b/k", "http://h/b", "https://h/b", "HTTPS://h/b"):
        assert is_address(text)
        assert isinstance(located(text), Address)
    for path in ("b.zip", "/s3/b", "gs://b/k", "s3:/b/k", Path("s3://b/k")):
        assert not is_address(path)
        assert located(path) == Path(path).absolute()


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("hf://ada/books", "ada/books/resolve/main/bundle.zip"),
        ("HF://ada/books@v1.0", "ada/books/resolve/v1.0/bundle.zip"),
        ("hf://datasets/ada/books/b.zip", "datasets/ada/books/resolve/main/b.zip"),
        ("hf://ada/my.books/sub/small.zip", "ada/my.books/resolve/main/sub/small.zip"),
    ],
)
def test_addresses_on_the_hub_are_addresses_of_files(
    address: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert located(address).raw == f"https://huggingface.co/{file}"  # type: ignore[union-attr]
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example.org/")
    assert Address(address).raw == f"https://hub.example.org/{file}"


@pytest.mark.parametrize("address", ["hf://", "hf://ada", "hf://a/../b", "hf://a/b c", "hf:///a/b"])
def test_addresses_on_the_hub_name_a_repository(address: str) -> None:
    with pytest.raises(InputError, match="give hf://OWNER/NAME"):
        load(address)


def test_whatever_prints_an_address_shows_no_secret() -> None:
    text = "https://ada:secret@host/docs/b.zip?signature=secret"
    address = Address(text)
    printed = (str(address), repr(address), f"{address}", f"{address!r}", "%s" % address)  # noqa: UP031
    assert set(printed) == {"https://…@host/docs/b.zip?…", "'https://…@host/docs/b.zip?…'"}
    assert address.raw == raw_text(address) == text
    assert address.unsigned == "https://ada:secret@host/docs/b.zip"
    assert (address.name, address.absolute()) == ("b.zip", address)


def test_an_address_stays_whole_where_it_is_used() -> None:
    address = Address("https://host/b.zip?signature=secret")
    for same in (Address(address), located(address), pickle.loads(pickle.dumps(address))):  # noqa: S301
        assert isinstance(same, Address)
        assert same.raw == address.raw == "https://host/b.zip?signature=secret"
    assert address == address.raw


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://bucket/key?versionId=1", "s3://bucket/key?…"),
        ("milvus://root:Milvus@db:19530/books", "milvus://…@db:19530/books"),
        ("https://host/team@v2/b.zip", "https://host/team@v2/b.zip"),
        ("what?.zip", "what?.zip"),
        ("C:/what@home/b.zip", "C:/what@home/b.zip"),
        (Path("https://host/b.zip?signature=secret"), "https:/host/b.zip?…"),
    ],
)
def test_query_strings_and_passwords_are_left_out(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize("place", ["gs://b/k?sig=secret", Path("https://h/b?sig=secret")])
def test_an_address_that_is_taken_for_a_path_shows_no_signature(place: object) -> None:
    with pytest.raises(BundleError) as caught:
        load(place)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
    assert "no bundle at" in str(caught.value)


@pytest.mark.parametrize(
    "place", ["s3://b/k", "HTTP://h/b", "gs://b/k", "az://b/k", "file:///b", Path("s3://b/k")]
)
def test_nothing_is_written_to_an_address_or_made_of_one(place: str | Path) -> None:
    with pytest.raises(InputError, match="nothing can be written"):
        writable(place)
    with pytest.raises(InputError, match="download it"):
        on_disk(place)
