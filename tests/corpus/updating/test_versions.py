"""Whenever the power is lost, every acknowledged document is there, and no half one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.power_loss import Disk, Image, Names, written

import ranklet
from ranklet.corpus.updating.writable import WritableBundle
from ranklet.runtime.bundle import Bundle

Texts = dict[str, str]  # by id
Step = Callable[[WritableBundle], object]


def rows(**texts: str) -> list[dict[str, str]]:
    return [{"id": name, "text": text} for name, text in texts.items()]


STEPS: list[Step] = [
    lambda bundle: bundle.add(rows(d="A zebra.")),
    lambda bundle: bundle.add(rows(e="A river.", a="A new house.")),
    lambda bundle: bundle.delete(["b"]),
    lambda bundle: bundle.restore(1),
    lambda bundle: bundle.compact(keep=3),
    lambda bundle: bundle.add(rows(f="A violin.")),
    lambda bundle: bundle.restore(2),
    lambda bundle: ranklet.update(bundle.path, rows(g="A fiddle."), delete=["c"]),
    lambda bundle: bundle.compact(keep=0),
]  # fmt: skip


def list_searched(bundle: Bundle) -> Texts:
    """Return the documents of a bundle, which are found by their words."""
    documents = bundle.documents
    mask = bundle._search.allowed()  # type: ignore[attr-defined]
    numbers = range(len(documents)) if mask is None else mask.nonzero()[0].tolist()
    texts = {documents.ids[at]: documents.texts[at] for at in numbers}
    for name, text in texts.items():
        assert name in {hit.id for hit in bundle.rank(text, pipeline="bm25")}
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["live", "live.zip"])
def test_no_acknowledged_document_is_lost_with_the_power(name: str, tmp_path: Path) -> None:
    root, again = tmp_path / "disk", tmp_path / "again"
    root.mkdir()
    path = Path(ranklet.build(rows(a="A house.", b="A cat.", c="A mouse."), root / name))
    bundle, disk = WritableBundle(path), Disk(root)
    before, images = list_searched(bundle), list[Image]()

    def look() -> None:
        for names in Names:
            if (image := disk.left(names)) not in images:
                images.append(image)

    def read(image: Image) -> Texts:
        shutil.rmtree(again, ignore_errors=True)
        written(image, again)
        left = Bundle(again / name)
        for each in left.log():
            assert len(left.at(each.version)) == each.documents
        return list_searched(left)

    def written_again(texts: Texts) -> None:
        next_one = WritableBundle(again / name).add(rows(next="A winter."))
        assert list_searched(next_one) == {**texts, "next": "A winter."}

    for step in STEPS:
        with disk.watched(look):
            step(bundle)
        bundle = WritableBundle(path)
        after = list_searched(bundle)
        assert after != before or step in (STEPS[4], STEPS[8])
        assert images
        for image in images:
            assert read(image) in (before, after)
        written_again(read(images[len(images) // 2]))
        for names in Names:  # it is acknowledged
            assert read(disk.left(names)) == after
            written_again(after)
        before = after
        images.clear()
    disk.close()
