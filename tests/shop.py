"""A synthetic German shop, whose pages the documentation shows."""

from collections.abc import Iterator
from random import Random
from typing import Any

# What it is, its materials, a sentence about it, what it costs, and a drawing of it.
KINDS = (
    (
        "Wasserkocher", "Küche", ("Edelstahl", "Glas", "Kunststoff"),
        "Kocht einen Liter Wasser in drei Minuten und schaltet sich selbst ab.",
        19, 89, "M30 90V40h40v50zM70 50h14v24H70",
    ),
    (
        "Kochtopf", "Küche", ("Edelstahl", "Gusseisen", "Emaille"),
        "Für alle Herde, auch Induktion. Der Deckel passt auch auf die Pfanne.",
        24, 159, "M24 50h72v38H24zM14 54h10M96 54h10M50 44h20",
    ),
    (
        "Bratpfanne", "Küche", ("Gusseisen", "Aluminium"),
        "Brät gleichmäßig, denn der Boden ist dick. Der Griff bleibt kühl.",
        18, 120, "M20 56h56q0 26-28 26t-28-26zM76 60h32",
    ),
    (
        "Akkuschrauber", "Werkzeug", ("18 V", "12 V"),
        "Mit zwei Akkus, Ladegerät und Koffer. Schraubt und bohrt in Holz und Metall.",
        59, 249, "M24 34h60v22H58v36H40V56H24zM84 42h16",
    ),
    (
        "Stichsäge", "Werkzeug", ("18 V", "650 W"),
        "Sägt Kurven in Holz, Kunststoff und Blech. Das Sägeblatt wechselt sich ohne Werkzeug.",
        49, 199, "M22 40h66v24H22zM40 64v30M30 40q24-26 48 0",
    ),
    (
        "Gießkanne", "Garten", ("Zink", "Kunststoff"),
        "Mit Brause für junge Pflanzen. Zehn Liter Wasser, und doch leicht zu tragen.",
        9, 49, "M30 50h44v40H30zM74 60l30-20M30 50q22-34 44 0",
    ),
    (
        "Rasenmäher", "Garten", ("Akku", "Benzin"),
        "Mäht bis 400 Quadratmeter Rasen. Der Fangkorb fasst 40 Liter.",
        129, 549, "M26 66h60v18H26zM86 66l18-38M36 92h1M76 92h1",
    ),
    (
        "Tischleuchte", "Licht", ("Messing", "Holz", "Aluminium"),
        "Warmes Licht zum Lesen, in drei Stufen gedimmt.",
        29, 189, "M38 30h44l14 30H24zM60 60v32M42 94h36",
    ),
)  # fmt: skip
MAKERS = (
    "Adler", "Brandt", "Hövel", "Kastner", "Lindner", "Nordhaus", "Rauch", "Seidel", "Thoma",
    "Vogt",
)  # fmt: skip
COLOURS = ("#8a5a2b", "#2f6b4f", "#35507a", "#8a2f3f", "#5b4a7a")


def products(count: int = 400) -> Iterator[dict[str, Any]]:
    """Yield the rows of the catalogue."""
    random = Random(4)
    for number in range(count):
        name, group, materials, text, least, most, _ = KINDS[number % len(KINDS)]
        maker, material = random.choice(MAKERS), random.choice(materials)
        yield {
            "id": f"A-{1000 + number}",
            "title": f"{maker} {name} {material}",
            "text": text,
            "Preis": int(random.triangular(least, most, least)) + random.choice((0.95, 0.5, 0.99)),
            "Marke": maker,
            "Warengruppe": group,
            "Material": material,
            "lieferbar": random.random() < 0.8,
            "erschienen": f"{random.randint(2019, 2026)}-{random.randint(1, 12):02}-01",
            "Bild": f"https://shop.example/{name}.svg",
            "Seite": f"https://shop.example/artikel/{1000 + number}",
        }


def picture(name: str) -> str:
    """Return a drawing of a kind of product, as SVG."""
    at = [each[0] for each in KINDS].index(name)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 120"><path d="'
        f'{KINDS[at][-1]}" fill="none" stroke="{COLOURS[at % len(COLOURS)]}" stroke-width="5" '
        'stroke-linecap="round" stroke-linejoin="round"/></svg>'
    )
