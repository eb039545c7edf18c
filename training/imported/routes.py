"""Read which modules of a folder encode queries and which encode documents."""

from collections.abc import Sequence

from ranklet.runtime.errors import ModelFolderError
from ranklet.training.imported.folder import CONFIG, ModelFolder, Module, read_json

ROUTERS = ("Router", "Asym")
_FILES = ("router_config.json", CONFIG)  # newer and older file
ROLES = ("query", "document")


def modules_by_role(folder: ModelFolder) -> tuple[Sequence[Module], Sequence[Module]]:
    """Return the modules that encode queries and those that encode documents.

    They are the same ones, unless the first module is a router, whose routes come before the rest.

    Raises:
        ModelFolderError: the router has no route for one of them, or chooses in another way.
    """
    if not folder.modules or folder.modules[0].name not in ROUTERS:
        return folder.modules, folder.modules
    router, *rest = folder.modules
    file = next((name for name in _FILES if (router.folder / name).is_file()), _FILES[0])
    described = read_json(router.folder / file)
    place = router.folder.relative_to(folder.path.resolve())
    try:
        if (described.get("parameters") or {}).get("route_mappings"):
            raise ModelFolderError(
                f"{str(router.folder / file)!r} has route_mappings, which are not supported; "
                "supported are the routes query and document"
            )
        queries, documents = (
            tuple(
                folder.module(described["types"][name], str(place / name), file)
                for name in described["structure"][role]
            )
            for role in ROLES
        )
    except (KeyError, TypeError, AttributeError):
        raise ModelFolderError(
            f"{str(router.folder / file)!r} describes no routes of queries and documents"
        ) from None
    return (*queries, *rest), (*documents, *rest)


def same(queries: Sequence[Module], documents: Sequence[Module]) -> bool:
    """Return whether the same modules encode queries and documents."""
    return [each.folder for each in queries] == [each.folder for each in documents]
