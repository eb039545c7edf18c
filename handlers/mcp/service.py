"""The server: requests on standard input, answers on standard output, faults on standard error.

It is made of the low-level server of the package ``mcp``, because its larger one reads arguments
and writes error messages of its own.
"""

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ranklet.handlers.api.errors import failure
from ranklet.handlers.api.limits import Limits
from ranklet.handlers.logs import stack_of
from ranklet.handlers.mcp.tools import call, tools
from ranklet.runtime.bundle import Bundle
from ranklet.runtime.errors import InputError
from ranklet.version import __version__


def serve(bundle: Bundle, limits: Limits, about: str = "") -> None:
    """Answer a client until it closes standard input.

    Args:
        bundle: has a collection.
        limits: the largest arguments of a call.
        about: what the documents are, for the tools' descriptions; "" shows some titles.

    Raises:
        InputError: the bundle has no collection.
        ModuleNotFoundError: the package ``mcp`` is not installed.
    """
    if not len(bundle):
        raise InputError(f"{bundle.path} has no collection to search; add one with `ranklet index`")
    with no_garbage_collected():
        import anyio
        import mcp.server.lowlevel
        import mcp.server.stdio  # noqa: F401

    try:
        anyio.run(_serve, bundle, limits, about)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client is gone, so nobody waits for an answer


@contextmanager
def no_garbage_collected() -> Iterator[None]:
    """Import a package that builds hundreds of classes, all of which stay, a fifth faster."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


async def _serve(bundle: Bundle, limits: Limits, about: str) -> None:
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

    listed = [
        Tool(
            name=each.name,
            description=each.description,
            input_schema=each.schema,
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        for each in tools(bundle, limits, about)
    ]

    async def list_tools(context: Any, params: Any) -> ListToolsResult:  # noqa: ARG001
        return ListToolsResult(tools=listed)

    async def call_tool(context: Any, params: Any) -> CallToolResult:  # noqa: ARG001
        given = params.arguments or {}
        try:
            result = await asyncio.to_thread(call, bundle, params.name, given, limits)
        except Exception as error:
            status, body = failure(error)
            if status >= 500:  # the client learns no paths, but somebody must learn of the fault
                print(stack_of(error), file=sys.stderr)
            text = TextContent(type="text", text=body["error"])
            return CallToolResult(content=[text], is_error=True)
        content = [TextContent(type="text", text=result.text)]
        return CallToolResult(content=content, structured_content=result.values)

    server: Any = Server(
        "ranklet", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (requests, answers):
        await server.run(requests, answers, server.create_initialization_options())
