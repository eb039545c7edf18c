"""What one request may cost: the bounds that a server holds every caller to."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ranklet.runtime.errors import InputError

PREFIX = "RANKLET_MAX_"


@dataclass(frozen=True)
class Limits:
    """The largest of everything; each may be set by a variable, as RANKLET_MAX_DOCUMENTS.

    Attributes:
        body_bytes: of a request's body, as it comes over the wire.
        query_characters: of a query.
        documents: texts of the caller's own in one request.
        characters: of all these texts together, titles included.
        k: hits of one answer.
        explained: hits of one answer that asks for explanations: they cost far more than hits.
        seconds: for a body to arrive, and for an answer to be computed.
    """

    body_bytes: int = 4 << 20  # 4 MiB
    query_characters: int = 10_000
    documents: int = 1_000
    characters: int = 2_000_000
    k: int = 1_000
    explained: int = 100
    seconds: int = 30

    @classmethod
    def from_variables(cls, variables: Mapping[str, str]) -> "Limits":
        """Read the limits that an environment sets; the others stay as they are.

        Raises:
            InputError: one of them is not a whole number above 0; it is named.
        """
        given = {}
        for each in fields(cls):
            name = PREFIX + each.name.upper()
            if text := variables.get(name, ""):
                if not (text.isascii() and text.isdecimal() and 0 < int(text[:12]) < 1 << 31):
                    raise InputError(f"{name} is {text[:40]!r}; it must be a whole number above 0")
                given[each.name] = int(text)
        return cls(**given)
