"""mlua-swarm's dialect (`mse serve` 0.20.0): an operator is told of spawns over a WebSocket, and a step
settles when the operator acknowledges its spawn."""

import base64
import json
import os
import queue
import secrets
import socket
import struct
import threading
import time
import urllib.parse

from speaking import Speaking

# A role stays taken by the session that had it last.
ROLE = f"probe-{secrets.token_hex(4)}"


class Socket:
    """A WebSocket client: whole text messages, and answers to pings (RFC 6455)."""

    def __init__(self, address, path, bearer):
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)))
        key = base64.b64encode(os.urandom(16)).decode()
        head = (
            f"GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Authorization: Bearer {bearer}\r\n\r\n"
        )
        self.socket.sendall(head.encode())
        self.stream = self.socket.makefile("rb")
        status = self.stream.readline()
        assert b" 101 " in status, status
        while self.stream.readline() != b"\r\n":
            pass

    def send(self, text, opcode=1):
        data = text if isinstance(text, bytes) else text.encode()
        mask = os.urandom(4)
        size = len(data)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        self.socket.sendall(head + mask + masked)

    def receive(self):
        while True:
            first, second = self.stream.read(2)
            size = second & 127
            if size == 126:
                (size,) = struct.unpack(">H", self.stream.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.stream.read(8))
            data = self.stream.read(size)
            if first & 15 == 9:
                self.send(data, 10)
            elif first & 15 == 1:
                return json.loads(data)


class Worker:
    """What a spawn says of its worker."""

    def __init__(self, spawn, credential=None):
        self.spawn = spawn
        self.task = spawn["task_id"]
        self.credential = credential or spawn["worker_handle"]


class Service(Speaking):
    PROMPT = "/v1/worker/prompt?task_id=ST-0"
    DONE = "done"
    shortest_life_s = None

    def __init__(self, base_url, _token, work):
        super().__init__(base_url, work)
        status, text = self.post("/v1/operators", {"roles": [ROLE]})
        assert status in (200, 201), (status, text)
        self.operator = json.loads(text)
        self.socket = Socket(
            self.address, f"/v1/operators/{self.operator['sid']}/ws", self.operator["token"]
        )
        self.spawned = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            message = self.socket.receive()
            if message["type"] == "spawn":
                self.of(message["agent"]).put(message)
            elif message["type"] == "hook_before":
                answer = {"type": "hook_ack", "req_id": message["req_id"], "ok": True}
                self.socket.send(json.dumps(answer))

    def of(self, agent):
        with self.lock:
            return self.spawned.setdefault(agent, queue.Queue())

    def post(self, path, document):
        fields = {"Content-Type": "application/json"}
        return self.request("POST", path, fields, json.dumps(document).encode())

    def launch(self, nodes, agents, init=None, wait=True):
        blueprint = {
            "schema_version": "0.1.0",
            "id": f"probe-{secrets.token_hex(4)}",
            "flow": {"kind": "seq", "children": [self.node(node) for node in nodes]},
            "agents": [self.agent(name, agent) for name, agent in agents.items()],
            "operators": [{"name": ROLE}],
        }
        launch = {
            "blueprint": {"kind": "inline", "value": blueprint},
            "init_ctx": init or {},
            "work_dir": str(self.work),
            "operator_sid": self.operator["sid"],
            "ttl_secs": 7200,
            "detach": True,
        }
        status, text = self.post("/v1/tasks", launch)
        assert status == 202, (status, text)
        return json.loads(text)["run_id"]

    def node(self, node):
        kind, name, *rest = node
        path = lambda at: {"op": "path", "at": f"$.{at}"}
        if kind == "lanes":
            items, agent = rest
            body = {"kind": "step", "ref": agent, "in": path("item"), "out": path(agent)}
            return {
                "kind": "fanout", "items": {"op": "lit", "value": items}, "bind": path("item"),
                "body": body, "join": "all", "out": path(name),
            }
        prompt = {"op": "lit", "value": rest[0]}
        return {"kind": "step", "ref": name, "in": prompt, "out": path(name)}

    def agent(self, name, agent):
        fault = agent.get("inside")
        if fault:
            grow = "local all = {} while true do all[#all + 1] = string.rep('x', 1 << 20) end"
            source = {"spin": "while true do end", "grow": grow}[fault]
            return {"name": name, "kind": "lua", "spec": {"source": source}}
        shown = {
            "name": name, "kind": "operator", "spec": {"operator_ref": ROLE},
            "profile": {"system_prompt": "You are probed.", "worker_binding": "probe"},
        }
        if "ctx" in agent:
            shown["meta"] = {"ctx": agent["ctx"]}
        if "verdict" in agent:
            shown["verdict"] = agent["verdict"]
        return shown

    def claim(self, agent):
        return Worker(self.of(agent).get(timeout=30))

    def forged(self, worker):
        """The full token with a time that is over and a signature of zeros."""
        token = worker.spawn["capability_token"]
        document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        document.update(expire_at=1, sig_hex="00")
        text = json.dumps(document, separators=(",", ":")).encode()
        return Worker(worker.spawn, base64.urlsafe_b64encode(text).decode().rstrip("="))

    def unknown(self):
        return f"wh-{secrets.token_hex(4)}"

    def ask(self, method, path, worker, body=b""):
        fields = {"Authorization": f"Bearer {worker.credential}"}
        return self.request(method, path, fields, body)

    def prompt(self, worker):
        status, text = self.ask("GET", f"/v1/worker/prompt?task_id={worker.task}", worker)
        return status, json.loads(text) if status == 200 else text

    def stage(self, worker, name, content):
        name = urllib.parse.quote(name, safe="")
        return self.ask("POST", f"/v1/worker/artifact?name={name}", worker, content)[0]

    def submit(self, worker, content, query=""):
        path = "/v1/worker/submit" + (f"?{query}" if query else "")
        return self.ask("POST", path, worker, content)[0]

    def acknowledge(self, worker):
        answer = {"type": "spawn_ack", "req_id": worker.spawn["req_id"], "value": {}, "ok": True}
        self.socket.send(json.dumps(answer))

    def complete(self, worker, content, query=""):
        status = self.submit(worker, content, query)
        self.acknowledge(worker)
        return status

    def finish(self, worker):
        self.complete(worker, b"done")

    def give_up(self, worker):
        self.acknowledge(worker)

    def pointers(self, worker):
        context = self.prompt(worker)[1].get("context") or {}
        return {step["name"]: step["content_url"] for step in context.get("steps", [])}

    def pointed(self, worker, name):
        url = self.pointers(worker).get(name)
        if url is None:
            return None
        path = urllib.parse.urlsplit(url)
        path = path.path + (f"?{path.query}" if path.query else "")
        status, text = self.ask("GET", path, worker)
        return text if status == 200 else None

    def end(self, run, patience_s=60):
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            try:
                status, text = self.request("GET", f"/v1/runs/{run}")
            except OSError:
                time.sleep(0.5)
                continue
            view = json.loads(text)
            if view["status"] not in ("running", "pending"):
                return view["status"], view.get("result_ref") or view.get("result")
            time.sleep(0.05)
        return None, None

    def result(self, run):
        status, result = self.end(run)
        assert status == self.DONE, (status, result)
        return result.get("final_ctx", result)
