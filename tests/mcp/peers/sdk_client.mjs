// The official TypeScript client of a server whose command line follows; prints what it saw as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const seen = {};
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
