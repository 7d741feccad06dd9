"""An MCP server without an SDK, which does to its client what its tool names say.

It speaks lines of JSON on its standard streams, in either era of the protocol: `--stateless` answers
`server/discover`, without it that is an unknown method. `--dies-of-discover` ends at it instead.
"""

import json
import os
import subprocess
import sys
import threading

OUT = sys.stdout.buffer
held = []
late = {}
given_up = []
grown = []


def raw(line):
    OUT.write(line)
    OUT.flush()


def send(message, end=b"\n"):
    raw(json.dumps(message).encode() + end)


def answer(id, result):
    send({"jsonrpc": "2.0", "id": id, "result": result})


def text(id, said, **more):
    answer(id, {"content": [{"type": "text", "text": said}], **more})


def error(id, code, said):
    send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": said}})


def tools(count):
    schema = {"type": "object"}
    return [{"name": f"t{at}", "inputSchema": schema} for at in range(count)]


def listing(id, params):
    mode = os.environ.get("LISTING", "one")
    cursor = params.get("cursor")
    if mode == "pages":
        at = int(cursor or 0)
        page = {"tools": [{"name": f"t{at}", "inputSchema": {"type": "object"}}]}
        if at < 4:
            page["nextCursor"] = str(at + 1)
        answer(id, page)
    elif mode == "late":
        late[id] = "late"
    elif mode == "grown":
        schema = {"type": "object"}
        echo = {"name": "echo", "inputSchema": schema,
                "annotations": {"readOnlyHint": True, "openWorldHint": False}}
        names = ["grow", "locked", "own_error", "late", "long", "no.name", *grown]
        answer(id, {"tools": [echo, *({"name": name, "inputSchema": schema} for name in names)]})
    elif mode == "no-schema":
        answer(id, {"tools": [{"name": "bare"}]})
    else:
        answer(id, {"tools": tools(1)})


def broken(id, result):
    raw(b'{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (id, result))


def said(inner):
    return b'{"content":[{"type":"text","text":"%s"}]}' % inner


def call(id, name, arguments):
    if name == "echo":
        text(id, arguments.get("text", ""))
    elif name == "locked":
        text(id, "locked", isError=True)
    elif name == "refuse":
        error(id, -32602, "no such thing in /etc/passwd")
    elif name == "leak":
        key = os.environ["KEY"]
        raw(b"no message with " + key.encode() + b"\n")
        error(id, -32000, "one line\nWARN another " + key)
    elif name == "surrogate":
        broken(id, said(rb"x\ud83d"))
    elif name == "low_surrogate":
        broken(id, said(rb"\udc00"))
    elif name == "separators":
        broken(id, said("before\u2028after, a\u0085b, \u2029".encode()))
    elif name == "duplicate":
        broken(id, b'{"content":[],"isError":false,"isError":true}')
    elif name == "large_integer":
        broken(id, b'{"content":[],"structuredContent":{"n":18446744073709551616}}')
    elif name == "infinite":
        broken(id, b'{"content":[],"structuredContent":{"n":1e400}}')
    elif name == "integers":
        broken(id, b'{"content":[],"structuredContent":{"n":9007199254740993}}')
    elif name == "deep":
        depth = arguments["depth"]
        nested = b"[" * depth + b"]" * depth
        broken(id, b'{"content":[],"structuredContent":{"n":' + nested + b"}}")
    elif name == "long":
        broken(id, said(b"x" * arguments["bytes"]))
    elif name == "endless":
        for _ in range(arguments["pieces"]):
            raw(b"x" * 65536)
        raw(b"\n")
        text(id, "after")
    elif name == "banners":
        raw(b"Server version: 1.0\n\xff\xfe\n[1,2]\n\n   \r\n{not json\r\n")
        message = {"jsonrpc": "2.0", "id": id, "result": {"content": []}}
        send(message, b"\r\n")
    elif name == "environment":
        text(id, json.dumps(dict(os.environ)))
    elif name == "arguments":
        text(id, json.dumps(sys.argv[1:]))
    elif name == "pictures":
        answer(id, {"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "Zm9vYmFy", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "x:t", "text": "inner"}},
            {"type": "audio", "data": "Zm9v", "mimeType": "audio/wav"},
            {"type": "text", "text": "two"},
        ]})
    elif name == "own_error":
        own = {"code": "NO_ROOM", "message": "There is no room"}
        text(id, "full", isError=True, _meta={"tidegate/error": own})
    elif name == "crash":
        os._exit(3)
    elif name == "half_crash":
        raw(b'{"jsonrpc":"2.0","id":%d,"resu' % id)
        os._exit(3)
    elif name == "grow":
        grown.append("integers")
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(id, "grown")
    elif name == "hold":
        held.append((id, arguments["text"]))
        if len(held) == arguments["together"]:
            for other, kept in reversed(held):
                text(other, kept)
            held.clear()
    elif name == "late":
        late[id] = arguments.get("text", "late")
    elif name == "race":
        timer = threading.Timer(arguments["after"], text, [id, "raced"])
        timer.start()
    elif name == "stderr":
        sys.stderr.buffer.write(b"\x1b[31mloud\xff" * arguments["times"])
        sys.stderr.flush()
        text(id, "said")
    elif name == "child":
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
        text(id, f"{os.getpid()} {child.pid}")
    elif name == "leave":
        # The group of whoever started this process is in the same session.
        os.setpgid(0, os.getpgid(os.getppid()))
        text(id, str(os.getpid()))
    elif name == "twice":
        text(id, "first")
        text(id, "second")
    elif name == "pings":
        # Its input is not read any more; the pipe ends the loop when nobody reads its output either.
        for at in range(arguments["times"]):
            send({"jsonrpc": "2.0", "id": at, "method": arguments["method"]})
        text(id, "pinged")
    elif name == "given_up":
        text(id, str(len(given_up)))
    elif name == "deaf":
        threading.Event().wait()
    elif name == "asks":
        send({"jsonrpc": "2.0", "id": "q1", "method": "roots/list"})
        send({"jsonrpc": "2.0", "id": "q2", "method": "sampling/createMessage", "params": {
            "messages": [], "maxTokens": 1}})
        text(id, "asked")
    else:
        error(id, -32602, f"unknown tool {name}")


def main():
    flags = sys.argv[1:]
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method == "initialize":
            answer(id, {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                        "serverInfo": {"name": "raw", "version": "1"}})
        elif method == "server/discover":
            if "--dies-of-discover" in flags:
                sys.exit(1)
            if "--stateless" in flags:
                answer(id, {"resultType": "complete", "supportedVersions": ["2026-07-28"],
                            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                            "_meta": {"io.modelcontextprotocol/serverInfo": {
                                "name": "raw", "version": "1"}}})
            else:
                error(id, -32601, "Method not found")
        elif method == "tools/list":
            listing(id, params)
        elif method == "tools/call":
            call(id, params["name"], params.get("arguments") or {})
        elif method == "notifications/cancelled":
            # A strict peer would not; this one answers all the same.
            other = params["requestId"]
            given_up.append(other)
            text(other, late.pop(other, "late"))


main()
