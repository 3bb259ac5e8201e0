"""The pipeline as three tools of the Model Context Protocol, for assistants and editors (extra
`mcp`).

* `tools`: search, ask and rewrite, as a server of the official SDK.
* `mended_body`: bodies of requests with half a surrogate pair.
* `task`: `task=mcp`, over standard input and output.

task=serve has the tools at /mcp, by the hook `convrag_serve_beside`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the task."""
    register(
        "task",
        "mcp",
        "convrag_mcp.task:McpTask",
        "Offer search, ask and rewrite to assistants and editors, by the Model Context Protocol.",
    )


@hookimpl
def convrag_serve_beside(
    pipelines: Mapping[str, Any],
    domain: str | None,
    take_turn: Callable[..., Any],
    max_characters: int,
) -> Any:
    """Serve the tools at /mcp, where the extra is installed. The server has checked host, origin
    and token.
    """
    try:
        from mcp.server.transport_security import TransportSecuritySettings
    except ModuleNotFoundError:
        return None
    from convrag_mcp.mended_body import MendedBody
    from convrag_mcp.tools import make_server

    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = make_server(pipelines, domain, take_turn, max_characters)
    application = server.streamable_http_app(
        stateless_http=True, json_response=True, transport_security=unchecked
    )
    for route in application.routes:
        route.app = MendedBody(route.app)
    return application
