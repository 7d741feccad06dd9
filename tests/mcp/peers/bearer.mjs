// Adds a bearer token to each request for a service, for clients that can't: the service's URL, then
// the token. It prints the port that it listens on, and ends with its standard input.
import http from "node:http";

const [service, token] = process.argv.slice(2);
const { hostname, port } = new URL(service);
const server = http.createServer((request, answer) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const { method, url: path } = request;
  const asked = http.request({ hostname, port, path, method, headers }, (said) => {
    answer.writeHead(said.statusCode, said.headers);
    said.pipe(answer);
  });
  asked.on("error", () => answer.destroy());
  answer.on("close", () => asked.destroy());
  request.pipe(asked);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("close", () => process.exit()).resume();
