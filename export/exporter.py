"""What an export must know about a kind; the kind's module in export/rankers has one `EXPORTER`."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from ranklet.export.jobs import ExportJob
from ranklet.export.proof.as_others import AsOthers
from ranklet.export.query_side import QueryTables
from ranklet.runtime.bundles.manifest import RankerEntry
from ranklet.runtime.ground.options import Option, list_options
from ranklet.runtime.kinds import KINDS, ranker_module
from ranklet.training.checkpoint import Checkpoint


@dataclass(frozen=True)
class Exporter:
    """How a kind is exported; the module of a kind has one, `EXPORTER`.

    Attributes:
        export: writes what depends on no collection, under a ranker's name.
        settings: names of the kind's settings that an export may change.
        prunes: whether `ExportOptions.prune` has a meaning for the kind.
        cuts: whether a ranker that splits texts itself needs no more tokens than they have.
        as_others: returns the network as other libraries run it; None if none does.
        tables: how a table can encode queries; None if none can.
        given: returns a checkpoint of vectors from outside, by the settings and facts that are
            known, and by the rows and the tokenizer of a table, if there is one.
    """

    export: Callable[[ExportJob], RankerEntry]
    settings: tuple[str, ...] = ()
    prunes: bool = False
    cuts: bool = False
    as_others: Callable[[ExportJob], AsOthers] | None = None
    tables: QueryTables | None = None
    given: Callable[..., Checkpoint] | None = None


def exporter(kind: str) -> Exporter:
    """Return the exporter of a kind, imported when it is first needed.

    Raises:
        UnknownRankerError: there is no such kind.
    """
    ranker_module(kind)
    own: Exporter = import_module(f"ranklet.export.rankers.{kind}").EXPORTER
    return own


def list_export_settings() -> dict[str, dict[str, Option]]:
    """Return the settings that an export may change, by name; each maps kinds to their options."""
    found: dict[str, dict[str, Option]] = {}
    for kind in KINDS:
        declared = {
            each.path[0]: each.option for each in list_options(ranker_module(kind).SETTINGS())
        }
        for name in exporter(kind).settings:
            found.setdefault(name, {})[kind] = declared[name]
    return found
