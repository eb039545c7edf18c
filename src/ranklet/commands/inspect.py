"""Show the contents of a bundle."""

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklet.runtime.bundles.manifest import Manifest

from ranklet.commands.output import say, show_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("bundle", help="bundle, a folder, .zip or address")
    parser.add_argument("--json", action="store_true", help="print the manifest")


def run(options: argparse.Namespace) -> None:
    """Print the contents of the manifest."""
    from ranklet.runtime import load
    from ranklet.runtime.bundles.manifest import in_words
    from ranklet.runtime.kinds import KINDS
    from ranklet.runtime.onnx.encoder import VARIANTS
    from ranklet.runtime.storage.address import shown

    bundle = load(options.bundle)
    manifest = bundle.manifest
    if options.json:
        show_json(manifest.to_json().rstrip())
        return
    size = sum(entry.bytes for entry in manifest.files.values())
    written = f"written {manifest.created} by ranklet {manifest.ranklet_version}"
    say(f"{shown(options.bundle)}: {written}")
    say(f"{bundle.size}, {len(manifest.files)} files, {size / 1e6:.1f} MB")
    if added := bundle.additions:
        numbers = [f"{sum(map(len, added.deleted)):,} deleted", f"{len(added.parts)} additions"]
        say(f"since then: {', '.join(numbers)}, the last by change {added.version:,}")
    say(f"sha256: {manifest.sha256}")
    say(f"fields: {', '.join(manifest.fields) or 'none'}")
    if bundle.metadata:
        say(f"metadata: {in_words(bundle.metadata)}")
    if manifest.documents:
        say(f"languages: {', '.join(manifest.languages)} (words by {manifest.normaliser})")
    # Kinds to use come first, as wherever a user chooses.
    for name, entry in sorted(
        manifest.rankers.items(), key=lambda each: KINDS[each[1].kind].of_papers
    ):
        own = {
            path: e.bytes
            for path, e in manifest.files.items() if path.startswith(f"rankers/{name}/")
        }  # fmt: skip
        files = {path.rpartition("/")[2] for path in own}
        models = "".join(f", {variant}" for variant, file in VARIANTS.items() if file in files)
        values = {**entry.settings, **entry.measured}
        settings = ", ".join(f"{key}={value}" for key, value in values.items())
        kind = f"{entry.kind}, a kind of the papers" if KINDS[entry.kind].of_papers else entry.kind
        say(f"ranker   {name}: {kind} ({settings}), {sum(own.values()) / 1e6:.1f} MB{models}")
    for name, pipeline in manifest.pipelines.items():
        mark = " (default)" if name == manifest.default_pipeline else ""
        say(f"pipeline {name}{mark}: {pipeline}")
    say(f"default: {_reason(manifest)}")
    for key, value in manifest.provenance.items():
        say(f"{key}: {json.dumps(value, ensure_ascii=False):.300}")


def _reason(manifest: "Manifest") -> str:
    """Say in one sentence why the default pipeline is the default."""
    from ranklet.corpus.building.default_pipelines import BY_RANKS, SUM

    name = manifest.default_pipeline
    if name == SUM:
        source = manifest.provenance.get("fusion")
        weights = source.get("weights") if isinstance(source, dict) else None
        how = f"weights {weights}" if weights else "equal weights"
        return (
            f"the scores of all retrievers are added up, with {how}; `ranklet learn` learns others"
        )
    if name == BY_RANKS:
        return "the reciprocal ranks of all retrievers are added up, as was asked for"
    if name in manifest.rankers:
        return f"{name} ranks last" if len(manifest.pipelines) > 1 else f"only {name} retrieves"
    if not name:
        return "no ranker retrieves"
    learned = manifest.provenance.get("learned")
    by = learned.get("by") if isinstance(learned, dict) else None
    return f"{name!r} was learned by `{by}`" if by else f"{name!r} is a pipeline of its own"
