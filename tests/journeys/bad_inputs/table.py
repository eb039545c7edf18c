"""All bad inputs, and the table that is made of them."""

from collections.abc import Mapping
from itertools import groupby

from tests.journeys.bad_inputs.command_cases import BUNDLES, MODELS, OPTIONS
from tests.journeys.bad_inputs.data_cases import COLLECTIONS, JUDGEMENTS, SOURCES
from tests.journeys.bad_inputs.request_cases import CALLS, REQUESTS
from tests.journeys.bad_inputs.running import ROOT, Case, Response
from tests.journeys.bad_inputs.update_cases import FILTERS, JOINS, UPDATES

CASES: list[Case] = [
    *COLLECTIONS,
    *JUDGEMENTS,
    *SOURCES,
    *OPTIONS,
    *BUNDLES,
    *MODELS,
    *UPDATES,
    *JOINS,
    *FILTERS,
    *REQUESTS,
    *CALLS,
]
TABLE = ROOT / "build" / "bad-inputs.md"

HEAD = """# Bad inputs

`make bad-inputs` writes this table by running every input through the code.
tests/journeys/test_bad_inputs.py checks that none is silent and none shows a traceback. The status
is a command's exit status, HTTP's status, or the class of the exception in Python. A status of 0 is
a warning or an empty answer, which has no place.
"""
LONGEST = 220  # characters that are shown of a response


def as_table(responses: Mapping[str, Response]) -> str:
    """Return the table in Markdown, one per area."""
    lines = [HEAD]
    for area, cases in groupby(CASES, lambda case: case.area):
        lines += [f"## {area[0].upper()}{area[1:]}\n"]
        lines += ["| input | status | response | raised in |", "|---|---|---|---|"]
        for case in cases:
            response = responses[f"{case.area}: {case.name}"]
            text = " ".join(response.text.split())
            text = f"{text[:LONGEST]}…" if len(text) > LONGEST else text
            text = text.replace("|", "\\|").replace("`", "'")
            lines.append(f"| {case.name} | {response.status} | {text} | {response.where} |")
        lines.append("")
    return "\n".join(lines)
