// The second TypeScript client: an era, then the command line of a server, or its URL and a bearer
// token. It prints what it saw as JSON.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, target, ...rest] = process.argv.slice(2);
const named = ["legacy", "auto"].includes(mode) ? mode : { pin: mode };
const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: named } });
const bearer = { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } };
await client.connect(target.startsWith("http:")
  ? new StreamableHTTPClientTransport(new URL(target), bearer)
  : new StdioClientTransport({ command: target, args: rest }));
const seen = { era: client.getProtocolEra() };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
const read = await client.callTool({ name: "read_text", arguments: { path: "rustfmt.toml" } });
seen.read = [read.isError, read.content[0].text];
const absent = await client.callTool({ name: "read_text", arguments: { path: "absent" } });
seen.absent = [absent.isError, absent.content[0].text];
const found = await client.callTool({
  name: "grep", arguments: { pattern: "max", paths: ["rustfmt.toml"] },
});
seen.grep = [found.isError, found.structuredContent.exitCode, found.content.length];
const calls = Array.from({ length: 50 }, () =>
  client.callTool({ name: "read_text", arguments: { path: "rustfmt.toml" } }));
seen.many = (await Promise.all(calls)).filter((said) => !said.isError).length;
try {
  await client.callTool({ name: "no_such_tool", arguments: {} });
} catch (error) {
  seen.unknown = error.code;
}
await client.close();
console.log(JSON.stringify(seen));
