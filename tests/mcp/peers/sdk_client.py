"""The official Python client of a server whose command line follows; prints what it saw as JSON."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main():
    mode, command, *arguments = sys.argv[1:]
    seen = {}
    server = StdioServerParameters(command=command, args=arguments)
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        seen["tools"] = [tool.name for tool in listed.tools]
        read = await client.call_tool("read_text", {"path": "rustfmt.toml"})
        seen["read"] = [read.is_error, read.content[0].text]
        absent = await client.call_tool("read_text", {"path": "absent"})
        seen["absent"] = [absent.is_error, absent.content[0].text]
        found = await client.call_tool("grep", {"pattern": "max", "paths": ["rustfmt.toml"]})
        seen["grep"] = [found.is_error, found.structured_content["exitCode"], len(found.content)]
        calls = [client.call_tool("read_text", {"path": "rustfmt.toml"}) for _ in range(50)]
        seen["many"] = sum(not said.is_error for said in await asyncio.gather(*calls))
        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            seen["unknown"] = error.error.code
    print(json.dumps(seen))


asyncio.run(main())
