"""Map the top-level folders to ranklet's subpackages; pyproject.toml has all the rest."""

from setuptools import find_packages, setup

LAYERS = ("runtime", "corpus", "training", "export", "handlers")

setup(
    package_dir={"": "src"} | {f"ranklet.{layer}": layer for layer in LAYERS},
    packages=[
        *find_packages("src"),
        *(
            f"ranklet.{each}"
            for each in find_packages(include=[*LAYERS, *(f"{layer}.*" for layer in LAYERS)])
        ),
    ],
)
