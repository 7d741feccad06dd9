"""A server made with the official Python SDK: on its standard streams, or over HTTP at a free port."""

import socket
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("sdk")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def shout(text: str) -> str:
    """Says it louder."""
    return text.upper()


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("locked")


if "--http" in sys.argv:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(port, flush=True)
    server.run("streamable-http", host="127.0.0.1", port=port)
else:
    server.run("stdio")
