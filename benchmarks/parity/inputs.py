"""The tiny collection, queries and random BERT on which `bundle_parity` compares checkouts."""

import json
import random
from collections import defaultdict
from pathlib import Path

# Things of a topic, what people call them instead, and what is done with them.
TOPICS = {
    "garden": ("tulip shed pond hedge", "flower hut pool bush", "plant water clean"),
    "harbour": ("boat anchor sailor crane", "vessel hook mariner hoist", "row load moor"),
    "kitchen": ("kettle oven spoon plate", "boiler stove ladle dish", "cook boil roast"),
    "school": ("pupil teacher lesson desk", "student tutor class bench", "learn explain count"),
    "forest": ("tree fox path river", "timber animal trail stream", "walk hunt climb"),
}
QUALITIES = ("red", "good", "small", "bright", "quiet", "heavy")
STRANGE = (
    "gnorp winter", "the of and", "CAFÉ naïve flowers, planted!", "boats",
    "a quiet tutor explained the lessons to good pupils who had rowed along and counted every boat",
)  # fmt: skip


def write_inputs(folder: Path) -> None:
    """Write collection, queries and backbone, the same in every run."""
    draw = random.Random(1)  # noqa: S311 (nothing is secret here)
    lines = defaultdict(list, {"queries.txt": list(STRANGE)})

    def add(where: str, **record: str) -> None:
        lines[f"collection/{where}.jsonl"].append(json.dumps(record))

    add("corpus", _id="empty", title="", text="")
    add("corpus", _id="accents", title="Café", text="A naïve flower at the café.")
    for topic, words in TOPICS.items():
        things, others, actions = (text.split() for text in words)
        about: dict[str, dict[str, str]] = {thing: {} for thing in things}
        for at in range(30):
            name, thing = f"{topic}-{at}", things[at % len(things)]
            quality = about[thing][name] = draw.choice(QUALITIES)
            sentences = [f"The {quality} {thing} is {quality}."] + [
                f"They {draw.choice(actions)}ed the {draw.choice((thing, *things))}s with "
                f"{draw.choice(QUALITIES)} {draw.choice(things)}s."
                for _ in range(draw.randrange(1, 9))
            ]
            title = f"{quality} {thing}" if at % 10 else ""
            add("corpus", _id=name, title=title, text=" ".join(sentences))
        for thing, other in zip(things, others, strict=True):
            for at, split in enumerate(("train", "train", "log", "dev")):
                quality, known = draw.choice(QUALITIES), draw.choice(("", f" or {thing}"))
                name, text = (
                    f"{thing}-{at}",
                    f"{draw.choice(actions)}ing a {quality} {other}{known}",
                )
                add(f"queries.{split}", _id=name, text=text)
                lines[f"collection/qrels.{split}.txt"] += [
                    f"{name} 0 {document} {1 + (shown == quality)}"
                    for document, shown in about[thing].items()
                ]
        lines["queries.txt"].append(text)
    (folder / "collection").mkdir(parents=True, exist_ok=True)
    for path, content in lines.items():
        (folder / path).write_text("".join(f"{line}\n" for line in content), "utf-8")
    _write_backbone(folder / "bert")


def _write_backbone(folder: Path) -> None:
    """Write a BERT of 2 layers and 32 dimensions with random weights, and its word pieces."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForPreTraining

    letters = "abcdefghijklmnopqrstuvwxyz"
    words = sorted({word for texts in TOPICS.values() for text in texts for word in text.split()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,!", *letters, *QUALITIES]
    pieces += [*(f"##{each}" for each in (*letters, "ed", "ing")), "the", "they", "with", *words]
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)  # also for the pooler: a missing one is drawn without a seed later
    BertForPreTraining(config).save_pretrained(folder)
    tokenizer = BertWordPieceTokenizer({piece: at for at, piece in enumerate(pieces)})
    tokenizer.save(str(folder / "tokenizer.json"))
